"""SQL statements on the tables of a catalog, with errors that say what could not be done."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

import pyarrow as pa

from lakehouse.contracts.table import Table
from lakehouse.errors import MillraceError
from lakehouse.rows.duckdb_sql import spark_text_literal
from lakehouse.rows.row_json import row_json

_GONE = ("CHANGE_DATA", "CHANGE_TABLE_FEED", "TIME_TRAVEL", "VERSION", "FILE_NOT_EXIST", "FILE_NOT_FOUND")

Execute = Callable[[str, dict[str, Any]], pa.Table]
"""Runs a statement with named parameters (`:name`). Raises `LookupError` if the table does not exist."""


class Warehouse(Protocol):
    """A SQL warehouse."""

    def __call__(self, text: str, values: dict[str, Any]) -> pa.Table:
        """The result of a statement, see `Execute`."""

    def parts(self, text: str, values: dict[str, Any]) -> Iterator[pa.Table]:
        """The result in parts, of which few are in memory; times may have the session's time zone."""


class CatalogSql:
    """Runs statements in a SQL warehouse.

    Args:
        warehouse: runs them.
        catalog: the catalog of the layers.
    """

    def __init__(self, warehouse: Warehouse, catalog: str) -> None:
        self._warehouse = warehouse
        self._catalog = catalog

    def quoted(self, name: str) -> str:
        """A table's name with its catalog."""
        return ".".join(f"`{part}`" for part in (self._catalog, *name.split(".")))

    def run(self, text: str, what: str) -> pa.Table:
        """The result of a statement.

        Args:
            text: the statement.
            what: what it reads, for the error.

        Raises:
            LookupError: if there is no such table or schema.
            MillraceError: if it fails, or what it reads is gone.
        """
        with _reported(what):
            return self._warehouse(text, {})

    def parts(self, text: str, what: str) -> Iterator[pa.Table]:
        """The result of a statement in parts, see `run`."""
        with _reported(what):
            yield from self._warehouse.parts(text, {})

    def existing(self, layers: Iterable[str]) -> set[str]:
        """The tables that there are in some layers, views included."""
        found = set()
        for layer in layers:
            with suppress(LookupError):
                found |= {f"{layer}.{name}" for name in self.names_in(layer)}
        return found

    def names_in(self, schema: str) -> set[str]:
        """The names of the tables in a schema, views included.

        Raises:
            LookupError: if there is no such schema.
        """
        rows = self.run(f"SHOW TABLES IN `{self._catalog}`.`{schema}`", schema)
        return set(rows["tableName"].to_pylist())

    def schemas_with(self, start: str, name: str) -> dict[str, str]:
        """The value of a property by schema, of those that have it and whose names start with a text."""
        catalog, wanted = f"`{self._catalog}`", re.compile(rf"\({re.escape(name)},([^)]+)\)")
        schemas = self.run(f"SHOW SCHEMAS IN {catalog}", self._catalog).column(0).to_pylist()
        found = {}
        for schema in (each for each in (each.strip("`") for each in schemas) if each.startswith(start)):
            values = self.run(f"DESCRIBE SCHEMA EXTENDED {catalog}.`{schema}`", schema).column(1)
            if match := wanted.search(" ".join(filter(None, values.to_pylist()))):
                found[schema] = match[1]
        return found

    def execute(self, statement: str) -> None:
        """Execute a statement.

        Raises:
            MillraceError: if it fails.
        """
        start = " ".join(statement.split()[:6])
        try:
            self._warehouse(statement, {})
        except LookupError as error:  # which has the statement, and that may have a key
            raise MillraceError(
                f"`{start} …` fails: a schema or table does not exist", "Run the jobs first: they create them"
            ) from error
        except Exception as error:  # drivers raise many types
            raise MillraceError(
                f"`{start} …` fails: {_first_line(error)}", "The principal needs that right in the catalog"
            ) from error

    def query(self, text: str) -> pa.Table:
        """The result of a query in the warehouse's own SQL.

        Raises:
            MillraceError: if it fails.
        """
        try:
            return self._warehouse(text, {})
        except Exception as error:  # drivers raise many types
            raise MillraceError(_first_line(error), "`DESCRIBE layer.table` shows the columns") from error

    def append(self, table: Table, rows: pa.Table) -> None:
        """Append rows to an existing table in one commit.

        Args:
            table: its contract.
            rows: its columns, in order; times with a time zone, no bytes.

        Raises:
            LookupError: if there is no table.
        """
        schema = f"array<struct<{', '.join(f'`{each.name}`: {each.type}' for each in table.columns)}>>"
        values = spark_text_literal(f"[{','.join(row_json(row).decode() for row in rows.to_pylist())}]")
        self._warehouse(
            f"INSERT INTO {self.quoted(table.name)} SELECT inline(from_json({values}, '{schema}'))", {}
        )


@contextmanager
def _reported(what: str) -> Iterator[None]:
    """Raise errors of a driver as a MillraceError that says what can't be read, except a `LookupError`."""
    try:
        yield
    except LookupError:
        raise
    except Exception as error:  # drivers raise many types
        reason = _first_line(error)
        if any(word in reason for word in _GONE):
            raise MillraceError(
                f"{what} can't be read any more: {reason}",
                "Begin with a snapshot, and go on with the changes after it",
            ) from error
        raise MillraceError(
            f"the SQL warehouse can't read {what}: {reason}", "Try again; the warehouse's log says more"
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:200]
