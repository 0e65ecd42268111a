"""Amounts in a currency's minor unit, as decimal text."""

import re
from collections.abc import Mapping

_WHOLE = (
    *("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV"),
    *("XAF", "XOF", "XPF"),
)
_THOUSANDTHS = ("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND")
_TEN_THOUSANDTHS = ("CLF", "UYW")
_DECIMALS = {
    **dict.fromkeys(_WHOLE, 0),
    **dict.fromkeys(_THOUSANDTHS, 3),
    **dict.fromkeys(_TEN_THOUSANDTHS, 4),
}
"""Decimals of the currencies in ISO 4217 that do not have two."""

_INTEGER = re.compile(r"(-?)(\d+)", re.ASCII)
_CODE = re.compile(r"[A-Z]{3}", re.ASCII)


def decimals_of(currency: str) -> int | None:
    """Digits after the decimal point of a currency in ISO 4217; None for text that is not a code.

    Args:
        currency: in upper case.
    """
    return _DECIMALS.get(currency, 2) if _CODE.fullmatch(currency) else None


def major_units(amount: str | None, currency: str, decimals: Mapping[str, int]) -> str | None:
    """An amount as exact decimal text: 1999 in EUR is 19.99; None if it is not an integer in a currency.

    Args:
        amount: an integer in the minor unit.
        currency: in upper case.
        decimals: decimals by currency, where the provider differs from ISO 4217.
    """
    found = _INTEGER.fullmatch(amount or "")
    places = decimals.get(currency, decimals_of(currency))
    if found is None or places is None:
        return None
    sign, digits = found.groups()
    digits = digits.rjust(places + 1, "0")  # text, because a Decimal rounds to its context
    whole = digits[: len(digits) - places]
    return f"{sign}{whole}.{digits[len(whole) :]}" if places else f"{sign}{whole}"
