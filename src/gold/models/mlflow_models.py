"""Runs and versions of the data-driven models in MLflow."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import folds
import gold
from folds.persons.models import ModelNumbers
from folds.rule_numbers import load_rule_numbers
from gold.models.credit_chart import draw_credits
from gold.models.mlflow_client import experiment, quiet_mlflow
from gold.rules.model_run import ModelRun
from gold.rules.period_paths import PeriodCredit
from lakehouse.package_versions import requirements
from lakehouse.settings import Settings

_PYTHON_MODEL = Path(__file__).with_name("mlflow_path_model.py")
_REFUSED = re.compile(r"[^/\w.\- :]")  # characters that MLflow refuses in names of metrics
_NEEDED = ("mlflow-skinny", "numpy", "pandas")


def record_run(settings: Settings, computed: ModelRun, path_file: Callable[[PeriodCredit], str]) -> str:
    """Log a run, and register a version of the model unless the last has the same paths and rules.

    Args:
        settings: the settings in force.
        computed: the result of the run.
        path_file: returns the paths of a period, as CSV.

    Returns:
        The registered version with the paths and rules of the run.
    """
    with quiet_mlflow(settings) as mlflow:
        in_experiment = experiment(mlflow, settings, settings.mlflow_experiment)
        name = f"{computed.watermark:%Y-%m-%d %H:%M:%S}"
        with mlflow.start_run(experiment_id=in_experiment, run_name=name):
            mlflow.log_params(computed.rules)
            mlflow.set_tags(computed.hashes)
            for prefix, step, figures in computed.metrics():
                named = {_REFUSED.sub("_", f"{prefix}{name}"): value for name, value in figures.items()}
                mlflow.log_metrics(named, step=step)
            _keep_files(mlflow, computed, path_file)
            name, hashes = settings.mlflow_model, computed.hashes
            numbers = ModelNumbers.of(load_rule_numbers(settings.conf))
            registered = _last_version(mlflow, name, hashes) or _register(mlflow, name, hashes, numbers)
            mlflow.set_tag("model_version", registered)
            return registered


def _keep_files(mlflow: Any, computed: ModelRun, path_file: Callable[[PeriodCredit], str]) -> None:
    """Log the paths of each period, as `millrace attribute` reads them, and a chart of the latest."""
    for period in computed.periods:
        mlflow.log_text(path_file(period), f"paths/{computed.name_of(period)}.csv")
    for period in computed.latest():
        mlflow.log_figure(draw_credits(period), f"credit/{computed.name_of(period)}.png")


def _last_version(mlflow: Any, name: str, hashes: dict[str, str]) -> str | None:
    """The last registered version, if it has these hashes; else None."""
    client = mlflow.MlflowClient()
    numbers = [int(found.version) for found in client.search_model_versions(f"name='{name}'")]
    if not numbers:
        return None
    last = client.get_model_version(name, str(max(numbers)))  # in Unity Catalog, search results have no tags
    return str(last.version) if hashes.items() <= dict(last.tags).items() else None


def _register(mlflow: Any, name: str, hashes: dict[str, str], numbers: ModelNumbers) -> str:
    """Log the model with its code, and register it through the client, which prints nothing."""
    model = mlflow.pyfunc.log_model(
        name="model",
        python_model=str(_PYTHON_MODEL),
        code_paths=[*gold.__path__, *folds.__path__],
        model_config=numbers._asdict(),
        signature=_signature(),
        pip_requirements=[*requirements(_NEEDED)],
    )
    client = mlflow.MlflowClient()
    try:
        client.get_registered_model(name)
    except mlflow.MlflowException:
        client.create_registered_model(name)
    made = client.create_model_version(name, model.model_uri, model_id=model.model_id, tags=hashes)
    return str(made.version)


def _signature() -> Any:
    """Columns of `mlflow_path_model.PathModel.predict`; Unity Catalog requires input and output."""
    from mlflow.models import ModelSignature
    from mlflow.types.schema import ColSpec, DataType, ParamSchema, ParamSpec, Schema

    counts = [ColSpec(DataType.double, name, required=False) for name in ("conversions", "value", "nulls")]
    credited = [ColSpec(DataType.string, name) for name in ("model", "channel")]
    sums = [ColSpec(DataType.double, name) for name in ("conversions", "value")]
    return ModelSignature(
        inputs=Schema([ColSpec(DataType.string, "path"), *counts]),
        outputs=Schema([*credited, *sums]),
        params=ParamSchema([ParamSpec("model", DataType.string, "")]),
    )
