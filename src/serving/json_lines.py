"""Rows as JSON lines."""

import base64
import json
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any, NamedTuple

from lakehouse.timestamps import as_utc


class LineGroup(NamedTuple):
    """Changes that belong together, and the versions of the tables after them.

    Args:
        rows: one for each change.
        position: versions by table.
        table_ids: ids of these tables.
    """

    rows: Iterable[Mapping[str, Any]]
    position: Mapping[str, int]
    table_ids: Mapping[str, str] = MappingProxyType({})

    def lines(self) -> Iterable[str]:
        """A JSON object for each change, then one with the position."""
        for change in self.rows:
            yield json_text(change)
        yield json_text({"position": self.position})


def json_text(row: Mapping[str, Any]) -> str:
    """A JSON object in one line: times as RFC 3339 in UTC, decimals as text, bytes as Base64."""
    return json.dumps(row, ensure_ascii=False, default=_as_text)


def _as_text(value: object) -> object:
    if isinstance(value, datetime):
        return as_utc(value).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value) if isinstance(value, Decimal) else repr(value)
