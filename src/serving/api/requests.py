"""Parses what a request asks for, from its URL or a WebSocket message."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lakehouse.errors import MillraceError
from serving.stream.subscription import Terms
from serving.stream.wanted import Wanted

_LEAST_BUDGET = 16 << 10
_MOST_BUDGET = 16 << 20


def json_of(text: str | bytes) -> Any:
    """A JSON value; None if the text is no JSON, or nested too deeply to read."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def wanted_of(fields: Mapping[str, Any]) -> Wanted:
    """The table or query to follow: `table` with `where` and `select`, or `sql`.

    Args:
        fields: text values of a URL's query, or values of a JSON object.

    Raises:
        MillraceError: if a field can't be read.
    """
    where = fields.get("where") or {}
    if isinstance(where, str):
        where = json_of(where)
    if not isinstance(where, dict):
        raise MillraceError("where is no JSON object", 'As an example: {"channel": ["Email"]}')
    select = fields.get("select") or ()
    if isinstance(select, str):
        select = [name.strip() for name in select.split(",")]
    if not isinstance(select, (list, tuple)) or not all(isinstance(name, str) for name in select):
        raise MillraceError("select is no list of columns", "As an example: channel,events")
    return Wanted(_text(fields, "table"), _text(fields, "sql"), where, tuple(select))


def terms_of(fields: Mapping[str, Any], terms: Terms) -> Terms:
    """The settings of a subscription: `interval`, `conflate` and `budget`; missing ones stay unchanged.

    Raises:
        MillraceError: if a field can't be read.
    """
    found = terms
    if "interval" in fields:
        found = replace(found, interval=_number(fields, "interval", 0, 3600))
    if "budget" in fields:
        found = replace(found, budget=int(_number(fields, "budget", _LEAST_BUDGET, _MOST_BUDGET)))
    if "conflate" in fields:
        value = str(fields["conflate"]).lower()
        if value not in ("true", "false"):
            raise MillraceError(f"conflate is {value}", "Write true or false")
        found = replace(found, conflates=value == "true")
    return found


def position_of(fields: Mapping[str, Any]) -> str | None:
    """The resume token in `after`; None without one.

    Raises:
        MillraceError: if it is no text.
    """
    return _text(fields, "after")


def as_of_of(fields: Mapping[str, Any]) -> str | None:
    """The position in `as_of` that rows are read as of; None without one: the latest rows.

    Raises:
        MillraceError: if it is no text.
    """
    return _text(fields, "as_of")


def receipt_of(fields: Mapping[str, Any]) -> str | None:
    """The receipt of a collector in `receipt` to wait for; None without one.

    Raises:
        MillraceError: if it is no text.
    """
    return _text(fields, "receipt")


def seconds_of(fields: Mapping[str, Any], name: str, default: float, most: float) -> float:
    """A number of seconds.

    Raises:
        MillraceError: if the value is not valid.
    """
    return _number(fields, name, 0, most) if name in fields else default


def _number(fields: Mapping[str, Any], name: str, least: float, most: float) -> float:
    try:
        value = float(fields[name])
    except (TypeError, ValueError):
        value = -1
    if not least <= value <= most:
        raise MillraceError(f"{name} is {fields[name]}", f"Write a number from {least:,} to {most:,}")
    return value


def _text(fields: Mapping[str, Any], name: str) -> str | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise MillraceError(f"{name} is no text", "As an example: gold.traffic")
    return value
