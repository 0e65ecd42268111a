"""Parses decimals that clients send as JSON numbers or as text."""

import re
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import NamedTuple

_BLANKS = " \t\n\v\f\r"
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE]([+-]?)\d+)?", re.ASCII)


class DecimalType(NamedTuple):
    """A decimal type.

    Args:
        precision: total number of digits.
        scale: digits after the decimal point.
    """

    precision: int
    scale: int


MONEY = DecimalType(18, 4)
RATE = DecimalType(19, 10)


def parse_decimal(text: str | None, of: DecimalType) -> Decimal | None:
    """Parse a decimal, rounded half up to the type's scale; None if it is not a number or does not fit."""
    figures = (text or "").strip(_BLANKS)
    found = _NUMBER.fullmatch(figures)
    if found is None:
        return None
    zero = Decimal(0).scaleb(-of.scale)
    try:
        exact = Decimal(figures)
    except InvalidOperation:  # the exponent has more digits than the library allows
        return zero if found[1] == "-" else None
    if not exact or exact.adjusted() < -of.scale - 1:
        return zero
    if exact.adjusted() >= of.precision - of.scale:  # as plain digits it might exhaust the memory
        return None
    rounded = exact.quantize(zero, ROUND_HALF_UP)
    return rounded + 0 if rounded.adjusted() < of.precision - of.scale else None  # + 0: no negative zero
