"""Reads campaign fields (`utm_…`) and click ids from an address's parameters."""

import re
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from urllib.parse import unquote, unquote_to_bytes

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

_NAMES = frozenset((*PARAMETERS.values(), *CLICK_IDS))
_ESCAPED_AND = re.compile("&(?:amp;)*", re.IGNORECASE)
_ROUTES = ("/", "!/")
_NONE: Mapping[str, str] = MappingProxyType({})


def click_id_of(parameters: Mapping[str, str]) -> tuple[str | None, str | None]:
    """The click id that counts and its parameter name; None for both if there is none."""
    kind = next((name for name in CLICK_IDS if name in parameters), None)
    return (parameters[kind], kind) if kind else (None, None)


def read_parameters(address: str) -> Mapping[str, str]:
    """Campaign parameters and click ids of an address by name in lower case, decoded and trimmed.

    Each is that of the query, else that of the fragment (`#utm_source=a`, `#/path?utm_source=a`). The first
    of repeated parameters that is not empty counts.
    """
    before, _, fragment = address.partition("#")
    query = before.partition("?")[2]
    found = _read_query(query) if "=" in query else _NONE
    if "=" in fragment and (of_fragment := _read_query(_query_of_fragment(fragment))):
        return {**of_fragment, **found}
    return found


def _query_of_fragment(fragment: str) -> str:
    """The part of a fragment that has parameters: what follows `?`, unless they come before it."""
    head, mark, tail = fragment.partition("?")
    return tail if mark and ("=" not in head or head.startswith(_ROUTES)) else fragment


def _read_query(query: str) -> Mapping[str, str]:
    lower = query.lower()
    if "utm" not in lower and "id" not in lower:  # in every name
        return _NONE
    found: dict[str, str] = {}
    for pair in _ESCAPED_AND.split(query) if "amp;" in lower else query.split("&"):
        name, _, value = pair.partition("=")
        name = (unquote(name) if "%" in name else name).lower()
        if name in _NAMES and name not in found and (decoded := _decode(value)):
            found[name] = decoded
    return found


def _decode(value: str) -> str:
    """A value decoded once and trimmed; as it is where its bytes are no UTF-8."""
    if "%" in value or "+" in value:
        with suppress(UnicodeError):
            value = unquote_to_bytes(value.replace("+", " ")).decode("utf-8")
    return value.strip()
