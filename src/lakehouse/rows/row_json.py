"""Rows as JSON."""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import msgspec

_ENCODER = msgspec.json.Encoder(decimal_format="string")


def row_json(row: Mapping[str, Any]) -> bytes:
    """A row as JSON: RFC 3339 times in UTC, decimals as text, Base64 bytes, null for NaN and infinity."""
    return _ENCODER.encode({name: _plain(value) for name, value in row.items()})


def key_json(row: Mapping[str, Any], key: Sequence[str]) -> bytes:
    """The values of a row's key as a JSON array."""
    return _ENCODER.encode([_plain(row[name]) for name in key])


def json_line(content: Mapping[str, Any]) -> str:
    """An object as one line of JSON. Rows in it are already encoded."""
    return msgspec.json.format(_ENCODER.encode(content), indent=0).decode()


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value
    if isinstance(value, Decimal) and value.as_tuple().exponent == 0:
        return int(value)  # DuckDB's sum of integers
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value
