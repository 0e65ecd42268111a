"""How the rule-based models share one conversion's credit among its touches."""

from collections.abc import Callable
from datetime import timedelta

LOOK_BACK = timedelta(days=30)


def _first(touches: int) -> list[float]:
    return [1.0] + [0.0] * (touches - 1)


def _last(touches: int) -> list[float]:
    return [0.0] * (touches - 1) + [1.0]


def _linear(touches: int) -> list[float]:
    return [1.0 / touches] * touches


MODELS: dict[str, Callable[[int], list[float]]] = {"first": _first, "last": _last, "linear": _linear}


def credits(model: str, touches: int) -> list[float]:  # noqa: A001 - the field's own word
    """The credit of each touch, earliest first.

    Args:
        model: first, last or linear.
        touches: how many there are, 1 at least.

    Returns:
        As many numbers from 0 to 1; they sum to 1 within 1e-9.
    """
    return MODELS[model](touches)
