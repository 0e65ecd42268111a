"""Splits a conversion's value among its touches by credit, exactly, in scaled integers."""

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache

_CREDIT_DIGITS = 18  # decimal places of a credit: decimal(19,18)
_ONE = int(10**_CREDIT_DIGITS)
_HALF = _ONE // 2
_MONEY_DIGITS = 4
_NOTHING = Decimal("0.0000")


def split_value(value: Decimal | None, credits_: Sequence[float]) -> list[Decimal | None]:
    """Split a value by credits, each part rounded half up to four decimals.

    The rounding difference goes to the largest credit; if several are equal, to the latest.

    Args:
        value: with four decimals; None if unknown.
        credits_: at least one; they sum to 1.

    Returns:
        One part per credit; the parts sum exactly to the value. All parts are None if the value is unknown.
    """
    if value is None:
        return [None] * len(credits_)
    if not value or credits_.count(0.0) == len(credits_) - 1:
        return _give_all(value, credits_)
    units = int(value.scaleb(_MONEY_DIGITS))
    parts: list[int] = [_part(units, _scaled(credit)) for credit in credits_]
    parts[_largest(credits_)] += units - sum(parts)
    return [Decimal(part).scaleb(-_MONEY_DIGITS) if part else _NOTHING for part in parts]


def _give_all(value: Decimal, credits_: Sequence[float]) -> list[Decimal | None]:
    """Give the whole value to one touch: the same result as rounding, but faster."""
    parts: list[Decimal | None] = [_NOTHING] * len(credits_)
    parts[_largest(credits_)] = value
    return parts


def _part(units: int, scaled: int) -> int:
    """Units × credit, rounded half away from zero."""
    part = (abs(units) * scaled + _HALF) // _ONE
    return -part if units < 0 else part


def _largest(credits_: Sequence[float]) -> int:
    """Index of the largest credit; if several are equal, the latest."""
    largest, index = max(credits_), len(credits_) - 1
    while credits_[index] != largest:
        index -= 1
    return index


@lru_cache(maxsize=4096)
def _scaled(credit: float) -> int:
    """A credit in units of 10^-18, rounded half up, from its shortest text as Spark casts a double."""
    return int(Decimal(repr(credit)).scaleb(_CREDIT_DIGITS).to_integral_value(ROUND_HALF_UP))
