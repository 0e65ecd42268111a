"""MLflow, configured for a home and without log output."""

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lakehouse.settings import Settings

_QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "ERROR",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "GIT_PYTHON_REFRESH": "quiet",
}


@contextmanager
def quiet_mlflow(settings: Settings) -> Iterator[Any]:
    """MLflow, configured for a home. It is imported on first use, since that takes seconds."""
    home = settings.home / "mlflow"
    home.mkdir(parents=True, exist_ok=True)
    for name, value in {**_QUIET, "MPLCONFIGDIR": str(home / "matplotlib")}.items():
        os.environ.setdefault(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import mlflow

        for logger in ("mlflow", "alembic", "matplotlib"):
            logging.getLogger(logger).setLevel(logging.ERROR)
        uri = tracking_uri(settings)
        mlflow.set_tracking_uri(uri)
        mlflow.set_registry_uri(f"{uri}-uc" if _is_workspace(uri) and "." in settings.mlflow_model else uri)
        yield mlflow


def tracking_uri(settings: Settings) -> str:
    """MLflow's tracking URI."""
    return settings.mlflow_tracking_uri or f"sqlite:///{settings.home / 'mlflow' / 'mlflow.db'}"


def experiment(mlflow: Any, settings: Settings, name: str) -> str:
    """Id of the experiment, created if it does not exist. On a workspace its name has to be a path."""
    uri = settings.mlflow_tracking_uri
    if uri and _is_workspace(uri) and not name.startswith("/"):
        name = f"/Shared/{name}"
    client = mlflow.MlflowClient()
    if found := client.get_experiment_by_name(name):
        return str(found.experiment_id)
    files = None if uri else (settings.home / "mlflow" / "artifacts").as_uri()
    return str(client.create_experiment(name, artifact_location=files))


def _is_workspace(uri: str) -> bool:
    return uri.startswith("databricks") and not uri.endswith("-uc")
