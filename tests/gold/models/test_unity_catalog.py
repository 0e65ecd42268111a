"""Models in Unity Catalog: MLflow's own client against a local server of its REST API."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from folds.persons.models import ModelNumbers
from folds.rule_numbers import RuleNumbers
from gold.models import mlflow_models
from kit.unity_catalog import ModelRegistry, model_registry

NAME = "main.gold.attribution_model"
NUMBERS = ModelNumbers.of(RuleNumbers())
HASHES = {"paths_sha256": "a1", "rules_sha256": "b2"}


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelRegistry]:
    with model_registry() as served:
        monkeypatch.setenv("DATABRICKS_HOST", served.address)
        monkeypatch.setenv("DATABRICKS_TOKEN", "token")
        monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        yield served


@pytest.fixture
def mlflow(registry: ModelRegistry, tmp_path: Path) -> Iterator[Any]:
    """MLflow with runs in a file of its own and models in Unity Catalog, inside a run."""
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'mlflow.db'}")
    mlflow.set_registry_uri("databricks-uc")
    client = mlflow.MlflowClient()
    experiment = client.create_experiment("models", artifact_location=(tmp_path / "artifacts").as_uri())
    with mlflow.start_run(experiment_id=experiment):
        yield mlflow
    mlflow.set_tracking_uri(None)
    mlflow.set_registry_uri(None)


def test_model_is_registered_with_its_files_and_tags(mlflow: Any, registry: ModelRegistry) -> None:
    assert mlflow_models._last_version(mlflow, NAME, HASHES) is None
    assert mlflow_models._register(mlflow, NAME, HASHES, NUMBERS) == "1"
    (version,) = registry.models[NAME]
    assert version["status"] == "READY"
    assert {tag["key"]: tag["value"] for tag in version["tags"]} == HASHES
    assert {Path(path).name for path in registry.uploaded} >= {"MLmodel", "mlflow_path_model.py", "markov.py"}


@pytest.mark.long
def test_last_model_version_is_found_by_its_tags(mlflow: Any) -> None:
    mlflow_models._register(mlflow, NAME, {**HASHES, "paths_sha256": "older"}, NUMBERS)
    assert mlflow_models._last_version(mlflow, NAME, HASHES) is None
    mlflow_models._register(mlflow, NAME, HASHES, NUMBERS)
    assert mlflow_models._last_version(mlflow, NAME, HASHES) == "2"
