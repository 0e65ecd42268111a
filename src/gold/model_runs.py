"""Runs of the data-driven models, and versions of them, as MLflow keeps them."""

import logging
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gold.credit_chart import draw_credits
from gold.rules.computed import Computed
from lakehouse.settings import Settings

_CODE = Path(__file__).parent
_REFUSED = re.compile(r"[^/\w.\- :]")  # in names of metrics
_NEEDED = ("mlflow-skinny", "numpy", "pandas")
_QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "ERROR",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "GIT_PYTHON_REFRESH": "quiet",
}


def record_run(settings: Settings, computed: Computed) -> str:
    """Write down a run, and register a version of the model unless the last is of the same paths and rules.

    Args:
        settings: the settings in force.
        computed: what the run has come to.

    Returns:
        The version that this is the outcome of.
    """
    with _quiet_mlflow(settings) as mlflow:
        experiment = _experiment(mlflow, settings)
        name = f"{computed.watermark:%Y-%m-%d %H:%M:%S}"
        with mlflow.start_run(experiment_id=experiment, run_name=name):
            mlflow.log_params(computed.rules)
            mlflow.set_tags(computed.hashes)
            for prefix, step, figures in computed.metrics():
                named = {_REFUSED.sub("_", f"{prefix}{name}"): value for name, value in figures.items()}
                mlflow.log_metrics(named, step=step)
            _keep_files(mlflow, computed)
            name, hashes = settings.mlflow_model, computed.hashes
            registered = _last_version(mlflow, name, hashes) or _register(mlflow, name, hashes)
            mlflow.set_tag("model_version", registered)
            return registered


@contextmanager
def _quiet_mlflow(settings: Settings) -> Iterator[Any]:
    """MLflow, imported when it is needed since that takes seconds, set to a home's store and kept quiet."""
    home = settings.home / "mlflow"
    home.mkdir(parents=True, exist_ok=True)
    for name, value in {**_QUIET, "MPLCONFIGDIR": str(home / "matplotlib")}.items():
        os.environ.setdefault(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import mlflow

        for logger in ("mlflow", "alembic", "matplotlib"):
            logging.getLogger(logger).setLevel(logging.ERROR)
        uri = settings.mlflow_tracking_uri or f"sqlite:///{home / 'mlflow.db'}"
        mlflow.set_tracking_uri(uri)
        mlflow.set_registry_uri(f"{uri}-uc" if _is_workspace(uri) and "." in settings.mlflow_model else uri)
        yield mlflow


def _experiment(mlflow: Any, settings: Settings) -> str:
    """The id of the experiment, made if it isn't there. A workspace wants a path for a name."""
    uri, name = settings.mlflow_tracking_uri, settings.mlflow_experiment
    if uri and _is_workspace(uri) and not name.startswith("/"):
        name = f"/Shared/{name}"
    client = mlflow.MlflowClient()
    if found := client.get_experiment_by_name(name):
        return str(found.experiment_id)
    files = None if uri else (settings.home / "mlflow" / "artifacts").as_uri()
    return str(client.create_experiment(name, artifact_location=files))


def _is_workspace(uri: str) -> bool:
    return uri.startswith("databricks") and not uri.endswith("-uc")


def _keep_files(mlflow: Any, computed: Computed) -> None:
    """The paths of each period, as `millrace attribute` reads them, and a picture of the latest."""
    for period in computed.periods:
        mlflow.log_text(period.as_csv(), f"paths/{computed.name_of(period)}.csv")
    for period in computed.latest():
        figure = draw_credits(period, computed.credits[period])
        mlflow.log_figure(figure, f"credit/{computed.name_of(period)}.png")


def _last_version(mlflow: Any, name: str, hashes: dict[str, str]) -> str | None:
    """The registered version, if the last one has these hashes."""
    versions = mlflow.MlflowClient().search_model_versions(f"name='{name}'")
    last = max(versions, key=lambda each: int(each.version), default=None)
    return str(last.version) if last is not None and hashes.items() <= last.tags.items() else None


def _register(mlflow: Any, name: str, hashes: dict[str, str]) -> str:
    """Keep the model with the code it runs on, and register it: by the client, which prints nothing."""
    from mlflow.models import ModelSignature
    from mlflow.types.schema import DataType, ParamSchema, ParamSpec

    model = mlflow.pyfunc.log_model(
        name="model",
        python_model=str(_CODE / "path_model.py"),
        code_paths=[str(_CODE)],
        signature=ModelSignature(params=ParamSchema([ParamSpec("model", DataType.string, "")])),
        pip_requirements=[f"{package}=={version(package)}" for package in _NEEDED],
    )
    client = mlflow.MlflowClient()
    try:
        client.get_registered_model(name)
    except mlflow.MlflowException:
        client.create_registered_model(name)
    made = client.create_model_version(name, model.model_uri, model_id=model.model_id, tags=hashes)
    return str(made.version)
