"""Reads campaign fields (`utm_…`) and click ids from an address's parameters."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import unquote_plus

PARAMETERS = {
    "source": "utm_source",
    "medium": "utm_medium",
    "name": "utm_campaign",
    "term": "utm_term",
    "content": "utm_content",
    "id": "utm_id",
}
CLICK_IDS = ("gclid", "gbraid", "wbraid", "msclkid", "ttclid", "twclid", "li_fat_id", "fbclid")
"""Parameters that advertising platforms add; if an address has several, the first in this order counts."""

BLANKS = " \t\r\n"  # stripped from campaign fields
_NAMES = frozenset((*PARAMETERS.values(), *CLICK_IDS))
_BROKEN = re.compile("%(?![0-9a-fA-F]{2})")
_NONE: Mapping[str, str] = MappingProxyType({})


def click_id_of(parameters: Mapping[str, str]) -> tuple[str | None, str | None]:
    """The click id that counts and its parameter name; None for both if there is none."""
    kind = next((name for name in CLICK_IDS if name in parameters), None)
    return (parameters[kind], kind) if kind else (None, None)


def read_parameters(address: str) -> Mapping[str, str]:
    """Campaign parameters and click ids of an address, decoded; invalid escapes leave a value as it is.

    The first of repeated parameters counts. Blank values are dropped.
    """
    query = address.partition("#")[0].partition("?")[2]
    if "=" not in query:
        return _NONE
    found: dict[str, str] = {}
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        if name in _NAMES and name not in found:
            found[name] = value if _BROKEN.search(value) else unquote_plus(value)
    return {name: value for name, value in found.items() if value.strip(BLANKS)}
