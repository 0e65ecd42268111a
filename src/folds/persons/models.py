"""Rule-based attribution models: the weight of each touch of a conversion.

It imports no other package, because a registered model contains this file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from folds.rule_numbers import RuleNumbers

DIRECT = "Direct"


class ModelNumbers(NamedTuple):
    """Parameters of the models, as plain numbers.

    Args:
        half_life: half-life of a touch's weight in `time_decay`, in microseconds before the conversion.
        position_ends: share of the first touch, and of the last, in `position_based` with three or more
            touches.
    """

    half_life: int
    position_ends: float

    @classmethod
    def of(cls, numbers: RuleNumbers) -> ModelNumbers:
        """Convert the rule numbers of conf/rules.yml."""
        return cls(numbers.half_life // timedelta(microseconds=1), numbers.position_ends)


class ModelInput(NamedTuple):
    """Input of a model.

    Args:
        channels: of one conversion's touches, earliest first; at least one.
        ages: microseconds from each touch to the conversion; not negative.
        numbers: parameters of the models.
    """

    channels: Sequence[str]
    ages: Sequence[int]
    numbers: ModelNumbers


Model = Callable[[ModelInput], list[float]]


def _only(index: int, touches: int) -> list[float]:
    credits_ = [0.0] * touches
    credits_[index] = 1.0
    return credits_


def _first(given: ModelInput) -> list[float]:
    return _only(0, len(given.channels))


def _last(given: ModelInput) -> list[float]:
    return _only(-1, len(given.channels))


def _last_non_direct(given: ModelInput) -> list[float]:
    for index in range(len(given.channels) - 1, -1, -1):
        if given.channels[index] != DIRECT:
            return _only(index, len(given.channels))
    return _last(given)


def _linear(given: ModelInput) -> list[float]:
    touches = len(given.channels)
    return [1.0 / touches] * touches


def _position_based(given: ModelInput) -> list[float]:
    between = len(given.channels) - 2
    if between <= 0:
        return _linear(given)
    ends = given.numbers.position_ends
    return [ends, *[(1 - 2 * ends) / between] * between, ends]


def _time_decay(given: ModelInput) -> list[float]:
    half_life = given.numbers.half_life
    weights = [2.0 ** (-age / half_life) for age in given.ages]
    total = 0.0
    for weight in weights:  # in order of position; sum() compensates for rounding from Python 3.12 on
        total += weight
    return [weight / total for weight in weights]


MODELS: dict[str, Model] = {
    "first": _first,
    "last": _last,
    "last_non_direct": _last_non_direct,
    "linear": _linear,
    "position_based": _position_based,
    "time_decay": _time_decay,
}


def credits(model: str, given: ModelInput) -> list[float]:  # noqa: A001 - the field's own word
    """Split one conversion's credit among its touches.

    Args:
        model: a name of `MODELS`.
        given: the touches and the parameters of the models.

    Returns:
        One number from 0 to 1 per touch; they sum to 1 within 1e-9.
    """
    return MODELS[model](given)
