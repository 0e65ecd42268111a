"""Paths: distinct sequences of channels with counts, and the credit that models give to channels."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

from folds.persons.models import MODELS, ModelInput, ModelNumbers
from folds.persons.models import credits as credits_of
from gold.rules.markov import removal_shares

_UNIT = Decimal("0.0001")
_LIMIT = Decimal(10) ** 14  # decimal(18,4)


class Path(NamedTuple):
    """A sequence of channels with its counts.

    Args:
        channels: the channels in order, at least one.
        conversions: how often it ended in a conversion.
        value: total value of these conversions.
        nulls: how often it ended without a conversion.
    """

    channels: tuple[str, ...]
    conversions: float
    value: float = 0.0
    nulls: float = 0.0


@dataclass(frozen=True)
class Credit:
    """The credit of a channel: conversions and value."""

    conversions: float = 0.0
    value: float = 0.0


def credit_channels(model: str, paths: Sequence[Path], numbers: ModelNumbers) -> dict[str, Credit]:
    """Split the conversions of all paths, and their value, among the channels.

    Args:
        model: a name of `PATH_MODELS`. Paths have no times, so to time_decay all touches are equally old.
        paths: any number of paths; the same channels may occur more than once.
        numbers: rule numbers of the rule-based models.

    Returns:
        Credit by channel, for each channel of any path, sorted by name. No credit is negative; conversions
        and value sum to those of the paths.
    """
    if model in DATA_DRIVEN:
        return DATA_DRIVEN[model](paths)
    return _by_rule(model, paths, numbers)


def to_money(shares: Mapping[str, Credit], total: Decimal) -> dict[str, Decimal | None]:
    """Each channel's value to four decimals, half up, summing to the total exactly.

    The rounding difference is added to the largest value; of equal values, to the last by name. A value with
    more digits than decimal(18,4) is None.

    Args:
        shares: the credit by channel, at least one.
        total: the value of all paths.
    """
    values = {channel: _rounded(credit.value) for channel, credit in shares.items()}
    largest = max(values, key=lambda channel: (values[channel], channel))
    values[largest] += total - sum(values.values())
    return {channel: value if abs(value) < _LIMIT else None for channel, value in values.items()}


def total_value(paths: Iterable[Path]) -> Decimal:
    """The total value of paths, to four decimals; exact if no value has more than 15 digits."""
    return sum((_rounded(path.value) for path in paths), _UNIT * 0)


def _rounded(value: float) -> Decimal:
    return Decimal(repr(float(value))).quantize(_UNIT, ROUND_HALF_UP)


def _by_rule(model: str, paths: Sequence[Path], numbers: ModelNumbers) -> dict[str, Credit]:
    def shares(path: Path) -> list[tuple[str, float]]:
        given = ModelInput(path.channels, [0] * len(path.channels), numbers)
        return list(zip(path.channels, credits_of(model, given), strict=True))

    return _sum_up(paths, shares)


def _shapley(paths: Sequence[Path]) -> dict[str, Credit]:
    """The Shapley value. A coalition is worth the conversions of paths that use only its channels.

    A path is then a game that only all of its channels together win, so each of them gets the same share
    (Zhao, Mahboobi, Bagheri 2018, "Shapley value methods for attribution modeling in online advertising").
    """

    def shares(path: Path) -> list[tuple[str, float]]:
        channels = sorted(set(path.channels))
        return [(channel, 1 / len(channels)) for channel in channels]

    return _sum_up(paths, shares)


def _markov(paths: Sequence[Path]) -> dict[str, Credit]:
    conversions, value = sum(path.conversions for path in paths), sum(path.value for path in paths)
    shares = removal_shares((path.channels, path.conversions, path.nulls) for path in paths)
    return {channel: Credit(share * conversions, share * value) for channel, share in shares.items()}


def _sum_up(paths: Iterable[Path], shares: Callable[[Path], list[tuple[str, float]]]) -> dict[str, Credit]:
    found: dict[str, list[float]] = {}
    for path in paths:
        for channel, share in shares(path):
            sums = found.setdefault(channel, [0.0, 0.0])
            sums[0] += share * path.conversions
            sums[1] += share * path.value
    return {channel: Credit(*found[channel]) for channel in sorted(found)}


DATA_DRIVEN: dict[str, Callable[[Sequence[Path]], dict[str, Credit]]] = {
    "markov": _markov,
    "shapley": _shapley,
}
PATH_MODELS = (*MODELS, *DATA_DRIVEN)
