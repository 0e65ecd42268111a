"""Amounts of a provider's JSON: sums over lists, and minor units, as exact decimal text."""

import re
from collections.abc import Sequence

from msgspec import Raw

from folds.records.json_text import text
from intake.event_settings import Fields, Sum
from intake.webhooks.minor_units import major_units
from intake.webhooks.paths import elements, find_text, matches, walk

_DECIMAL = re.compile(r"[+-]?\d{1,40}(?:\.\d{1,40})?", re.ASCII)


def amounts(body: Raw, fields: Fields, currency: str) -> dict[str, object]:
    """The sums and the amounts in minor units of a body, by name of the property.

    Args:
        body: a provider's JSON.
        fields: the paths.
        currency: in upper case; without one, there are no amounts in minor units.

    Returns:
        Text of exact decimals. An amount that is missing, or is no integer of minor units, is left out.
        If an element of a sum is no decimal, the sum is this element as it is.
    """
    found: dict[str, object] = {name: _sum(body, each) for name, each in fields.sums.items()}
    for name, path in fields.minor_units.items():
        units = _sum(body, path) if isinstance(path, Sum) else find_text(body, path)
        found[name] = major_units(units if isinstance(units, str) else None, currency, fields.decimals)
    return {name: amount for name, amount in found.items() if amount is not None}


def exact_sum(decimals: Sequence[str]) -> str:
    """The sum of decimals in plain notation, with the digits of the longest fraction."""
    places = [len(each.partition(".")[2]) for each in decimals]
    most = max(places, default=0)
    units = sum(
        int(each.replace(".", "")) * 10 ** (most - own) for each, own in zip(decimals, places, strict=True)
    )
    digits = str(abs(units)).rjust(most + 1, "0")
    whole = digits[: len(digits) - most]
    sign = "-" if units < 0 else ""
    return f"{sign}{whole}.{digits[len(whole) :]}" if most else f"{sign}{whole}"


def _sum(body: Raw, of: Sum) -> str | Raw | None:
    """A sum; None without a list, and the first element that is no decimal if there is one."""
    found = elements(body, of.list)
    if found is None:
        return None
    decimals = []
    for each in found:
        raw = walk(each, of.of) if matches(each, of.when) else None
        decimal = "" if raw is None else (text(raw) or "").strip()
        if decimal and not _DECIMAL.fullmatch(decimal):
            return raw
        if decimal:
            decimals.append(decimal)
    return exact_sum(decimals)
