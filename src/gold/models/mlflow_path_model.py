"""The registered model: credit by channel for any frame of paths. MLflow logs this file as it is."""

import math
from typing import Any

import pandas as pd
from mlflow.models import set_model
from mlflow.pyfunc.model import PythonModel

from folds.persons.models import DIRECT, ModelNumbers
from gold.rules.paths import PATH_MODELS, Path, credit_channels
from gold.rules.period_paths import MODELS


class PathModel(PythonModel):
    """Credits channels by models over paths."""

    def predict(self, context: Any, model_input: pd.DataFrame, params: dict[str, Any] | None = None) -> Any:
        """Split the conversions of paths, and their value, among the channels.

        Args:
            context: its `model_config` has the rule numbers that the model was registered with.
            model_input: column path, as `a > b > c` or empty for Direct only, and the floats conversions,
                value and nulls, each 0 if it is missing.
            params: `model`, the name of a model; without it, all data-driven models.

        Returns:
            A frame of model, channel, conversions, value.
        """
        name = (params or {}).get("model")
        if name and name not in PATH_MODELS:
            raise ValueError(f"there is no model {name!r}; the models are {', '.join(PATH_MODELS)}")
        numbers = ModelNumbers(**context.model_config)
        paths = [_path(row) for row in model_input.to_dict("records")]
        rows = [
            (model, channel, credit.conversions, credit.value)
            for model in ([name] if name else MODELS)
            for channel, credit in (credit_channels(model, paths, numbers) if paths else {}).items()
        ]
        return pd.DataFrame(rows, columns=["model", "channel", "conversions", "value"])


def _path(row: dict[Any, Any]) -> Path:
    channels = tuple(channel.strip() for channel in str(row["path"] or "").split(">"))
    numbers = [float(row.get(name) or 0) for name in ("conversions", "value", "nulls")]
    return Path(channels if any(channels) else (DIRECT,), *(0.0 if math.isnan(n) else n for n in numbers))


set_model(PathModel())
