"""How the rule-based models share one conversion's credit among its touches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

LOOK_BACK = timedelta(days=30)
HALF_LIFE = timedelta(days=7)
DIRECT = "Direct"
ENDS = 0.4  # position_based: what the first touch and the last get each, of three or more


@dataclass(frozen=True, slots=True)
class Touch:
    """What a model may go by.

    Args:
        channel: through which it came.
        age: how long before the conversion; not negative.
    """

    channel: str
    age: timedelta = timedelta(0)


def _chosen(number: int, touches: int) -> list[float]:
    return [float(each == number) for each in range(touches)]


def _first(touches: Sequence[Touch]) -> list[float]:
    return _chosen(0, len(touches))


def _last(touches: Sequence[Touch]) -> list[float]:
    return _chosen(len(touches) - 1, len(touches))


def _last_non_direct(touches: Sequence[Touch]) -> list[float]:
    others = [number for number, touch in enumerate(touches) if touch.channel != DIRECT]
    return _chosen(others[-1], len(touches)) if others else _last(touches)


def _linear(touches: Sequence[Touch]) -> list[float]:
    return [1.0 / len(touches)] * len(touches)


def _position_based(touches: Sequence[Touch]) -> list[float]:
    between = len(touches) - 2
    if between <= 0:
        return _linear(touches)
    return [ENDS, *[(1 - 2 * ENDS) / between] * between, ENDS]


def _time_decay(touches: Sequence[Touch]) -> list[float]:
    weights = [2.0 ** -(touch.age / HALF_LIFE) for touch in touches]
    return [weight / sum(weights) for weight in weights]


MODELS: dict[str, Callable[[Sequence[Touch]], list[float]]] = {
    "first": _first,
    "last": _last,
    "last_non_direct": _last_non_direct,
    "linear": _linear,
    "position_based": _position_based,
    "time_decay": _time_decay,
}


def credits(model: str, touches: Sequence[Touch]) -> list[float]:  # noqa: A001 - the field's own word
    """The credit of each touch.

    Args:
        model: a name of `MODELS`.
        touches: of one conversion, earliest first, 1 at least.

    Returns:
        As many numbers from 0 to 1; they sum to 1 within 1e-9.
    """
    return MODELS[model](touches)
