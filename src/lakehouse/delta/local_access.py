"""Access to tables without Spark, where the packages and the storage allow it."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Optional

from lakehouse.contracts import TABLES, Table
from lakehouse.settings import Settings

if TYPE_CHECKING:  # a workspace has no deltalake
    from lakehouse.delta.local_tables import LocalTables


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

    def of(self, name: str) -> Optional["LocalTables"]:
        """Access to an existing table; None if only Spark can read and write it."""
        return self._tables if self._tables is not None and self._tables.is_plain(TABLES[name]) else None
