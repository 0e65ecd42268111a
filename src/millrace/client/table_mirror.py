"""Keeps a table of the user's database equal to a followed table or query."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Any

from lakehouse.errors import MillraceError
from millrace.client.change_group import Group, Row
from millrace.client.position_store import Cursor

_BATCH = 1_000


class TableMirror:
    """Applies groups to a table: pass it to `Consumer.run`.

    The table must exist with the columns of the stream's rows. Rows are deleted and inserted by key, or by
    all columns if there is no key. A reset replaces all rows. No other program may write to the table.

    Args:
        table: name of the table, optionally with a schema before a dot.
        columns: columns to store, including the key; all by default.
    """

    def __init__(self, table: str, columns: Sequence[str] | None = None) -> None:
        self._table = ".".join(_quoted(part) for part in table.split("."))
        self._columns = None if columns is None else tuple(columns)

    def __call__(self, cursor: Cursor, group: Group) -> None:
        """Apply a group in the cursor's transaction.

        Raises:
            MillraceError: if a row to delete does not exist.
        """
        dialect = _Dialect(self._table, isinstance(cursor, sqlite3.Cursor))
        if group.reset:
            cursor.execute(f"DELETE FROM {dialect.table}")
        # Deletes first: unique values may move between rows within a group.
        gone = (self._kept(each.before) for each in group.row_changes if each.before is not None)
        if group.key:
            key = group.key
            keys = ({name: row[name] for name in key} for row in gone)
            self._run_all(cursor, keys, dialect.delete_by_key)
        else:
            self._run_all(cursor, gone, dialect.delete_one)
        come = (self._kept(each.after) for each in group.row_changes if each.after is not None)
        self._run_all(cursor, come, dialect.insert)

    def _run_all(self, cursor: Cursor, rows: Iterable[Row], statement: Callable[[Row], str]) -> None:
        """Run one statement per row, batched by statement text. Each must change exactly one row."""
        for batch in _batches(iter(rows)):
            batch.sort(key=_shape)
            for _, alike in groupby(batch, _shape):
                these = list(alike)
                cursor.executemany(statement(these[0]), [_values(row) for row in these])
                if cursor.rowcount != len(these):
                    raise MillraceError(
                        f"table {self._table} is not as this consumer left it",
                        "Let nobody else write to it, and call restart(): all rows are replaced",
                    )

    def _kept(self, row: Row) -> Row:
        return row if self._columns is None else {name: row[name] for name in self._columns}


class _Dialect:
    """SQL statements for rows with the same columns and the same null columns."""

    def __init__(self, table: str, is_sqlite: bool) -> None:
        self._marker = "?" if is_sqlite else "%s"
        self._row_id = "rowid" if is_sqlite else "ctid"
        self._is_sqlite = is_sqlite
        self.table = self._text(table)

    def insert(self, row: Row) -> str:
        names = ", ".join(self._text(_quoted(name)) for name in row)
        values = ", ".join("NULL" if value is None else self._marker for value in row.values())
        return f"INSERT INTO {self.table} ({names}) VALUES ({values})"

    def delete_by_key(self, row: Row) -> str:
        return f"DELETE FROM {self.table} WHERE {self._equal(row)}"

    def delete_one(self, row: Row) -> str:
        """The statement that deletes one of several equal rows."""
        one = f"SELECT {self._row_id} FROM {self.table} WHERE {self._equal(row)} LIMIT 1"
        return f"DELETE FROM {self.table} WHERE {self._row_id} = ({one})"

    def _equal(self, row: Row) -> str:
        # Indexes support `=` and `IS NULL`, but not every database's null-safe comparison.
        return " AND ".join(
            f"{self._text(_quoted(name))} {'IS NULL' if value is None else f'= {self._marker}'}"
            for name, value in row.items()
        )

    def _text(self, name: str) -> str:
        return name if self._is_sqlite else name.replace("%", "%%")


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while batch := list(islice(rows, _BATCH)):
        yield batch


def _shape(row: Row) -> list[tuple[str, bool]]:
    return [(name, value is None) for name, value in row.items()]


def _values(row: Row) -> list[Any]:
    return [
        json.dumps(value) if isinstance(value, (dict, list)) else value
        for value in row.values()
        if value is not None
    ]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
