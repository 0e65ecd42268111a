"""Rule-based attribution models: the weight of each touch of a conversion.

Imports nothing of other packages: a registered model carries this file with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from folds.rule_numbers import RuleNumbers

DIRECT = "Direct"


class ModelNumbers(NamedTuple):
    """Rule numbers of the models, ready for arithmetic.

    Args:
        half_life: microseconds before the conversion that halve a touch's weight in `time_decay`.
        position_ends: share of the first touch, and of the last, in `position_based`, of three or more.
    """

    half_life: int
    position_ends: float

    @classmethod
    def of(cls, numbers: RuleNumbers) -> ModelNumbers:
        """Convert those of conf/rules.yml."""
        return cls(numbers.half_life // timedelta(microseconds=1), numbers.position_ends)


class ModelInput(NamedTuple):
    """What a model may go by.

    Args:
        channels: of one conversion's touches, earliest first, 1 at least.
        ages: microseconds from each of them to the conversion; not negative.
        numbers: of the rules.
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
    """Share one conversion's credit among its touches.

    Args:
        model: a name of `MODELS`.
        given: the touches and the numbers of the rules.

    Returns:
        As many numbers from 0 to 1 as there are touches; they sum to 1 within 1e-9.
    """
    return MODELS[model](given)
