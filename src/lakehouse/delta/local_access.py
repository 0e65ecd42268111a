"""Access to tables without Spark, where the packages and the storage allow it."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Protocol

import pyarrow as pa

from lakehouse.contracts import TABLES, Table
from lakehouse.delta.lookup import Lookup
from lakehouse.delta.merge import Scope
from lakehouse.settings import Settings


class LocalTables(Protocol):
    """Interface of `lakehouse.delta.local_tables.LocalTables`."""

    def find(self, table: Table, wanted: Lookup, version: int | None = None) -> pa.Table: ...  # noqa: D102
    def count_at_most(self, table: Table, wanted: Lookup, version: int | None = None) -> int: ...  # noqa: D102
    def ensure(self, table: Table, properties: Mapping[str, str]) -> bool: ...  # noqa: D102
    def is_plain(self, table: Table) -> bool: ...  # noqa: D102
    def column_names(self, table: Table) -> list[str]: ...  # noqa: D102
    def append(  # noqa: D102
        self,
        table: Table,
        rows: pa.Table,
        metadata: Mapping[str, object],
        options: Mapping[str, str | int] = ...,
    ) -> None: ...
    def merge(  # noqa: D102
        self, table: Table, changes: pa.Table, scope: Scope, metadata: Mapping[str, object]
    ) -> None: ...


class LocalAccess:
    """Tables in a folder, if deltalake and DuckDB are installed. Tables of a catalog need Spark.

    Args:
        settings: the settings in force.
    """

    def __init__(self, settings: Settings) -> None:
        self._tables: LocalTables | None = None
        if not settings.catalog and find_spec("deltalake") and find_spec("duckdb"):
            from lakehouse.delta.local_tables import local_tables

            self._tables = local_tables(settings.warehouse)

    @property
    def is_possible(self) -> bool:
        """Whether tables can be accessed without Spark."""
        return self._tables is not None

    def ensure(self, table: Table, properties: Mapping[str, str]) -> bool:
        """Create a table or add missing columns. False if Spark has to do it."""
        return self._tables is not None and self._tables.ensure(table, properties)

    def of(self, name: str) -> LocalTables | None:
        """Access to an existing table; None if only Spark can read and write it."""
        return self._tables if self._tables is not None and self._tables.is_plain(TABLES[name]) else None
