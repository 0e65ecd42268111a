"""Finds rows of a table by the values of its key, given as text."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import narwhals as nw

from lakehouse.contracts import TABLES, Table
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from lakehouse.timestamps import as_utc
from millrace.tables.table_scan import Row, rows_of, scan

NULL = "null"
_MAX_ROWS = 1000
_NOT_TRACED = ("gold.channel_credit", "gold.sketches", "gold.visitor_timeline")
"""Tables whose rows are computed from all conversions or visitors of a period."""


def traceable(name: str) -> Table:
    """The contract of a table whose rows can be traced.

    Raises:
        MillraceError: if there is no such table in silver and gold, or its rows can't be traced.
    """
    table = TABLES.get(name)
    if table is None or table.layer not in ("silver", "gold"):
        raise MillraceError(f"there is no table {name} in silver or gold", 'See `millrace sql "SHOW TABLES"`')
    if not table.key or name in _NOT_TRACED:
        raise MillraceError(
            f"rows of {name} have no records of their own",
            "Trace rows of the tables that it is computed from: docs/reference/tables.md names them",
        )
    return table


def find_rows(settings: Settings, table: Table, key: Sequence[str]) -> list[Row]:
    """The rows with these first values of the key; of a key of one text, its beginning is enough.

    Raises:
        MillraceError: if a value is not valid, or no row or too many have them.
    """
    if not 1 <= len(key) <= len(table.key):
        raise MillraceError(f"{len(key)} values for the key of {table.name}", _advice(table))
    rows = scan(settings, table.name)
    found: list[Row] = []
    if rows is not None:
        types = {column.name: column.type for column in table.columns}
        conditions = [
            _condition(name, types[name], text, is_whole=len(table.key) > 1)
            for name, text in zip(table.key, key, strict=False)
        ]
        found = rows_of(rows.filter(*conditions).head(_MAX_ROWS + 1))
    if not found or len(found) > _MAX_ROWS:
        count = f"more than {_MAX_ROWS:,} rows" if found else "no row"
        raise MillraceError(f"{table.name} has {count} of {' '.join(key)}", _advice(table))
    return found


def _condition(name: str, type_: str, text: str, is_whole: bool) -> nw.Expr:
    column = nw.col(name)
    if text.lower() == NULL:
        return column.is_null()
    if type_ == "string" and not is_whole:
        return column.str.starts_with(text)
    equal: nw.Expr = column == (text if type_ == "string" else _value(name, type_, text))
    return equal


def _value(name: str, type_: str, text: str) -> Any:
    try:
        if type_ == "timestamp":
            return as_utc(datetime.fromisoformat(text.replace("Z", "+00:00")))
        return date.fromisoformat(text) if type_ == "date" else int(text)
    except ValueError:
        raise MillraceError(f"{name} is a {type_}, and {text!r} is none", "Times are in UTC") from None


def _advice(table: Table) -> str:
    return f"Give {', '.join(table.key)}, or the first of these; `{NULL}` stands for no value"
