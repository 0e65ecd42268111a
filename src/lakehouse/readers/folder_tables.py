"""Tables in a folder, read by deltalake."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.table import Table
from lakehouse.delta.changes import iterate_snapshot, read_changes
from lakehouse.delta.data_files import live_files, read_parts
from lakehouse.delta.log_files import commit_file, latest_version, read_metadata, written_at
from lakehouse.delta.sql_views import add_view
from lakehouse.delta.table_identity import table_id
from lakehouse.readers.row_conditions import Condition, all_expressions


@dataclass(frozen=True)
class FolderVersion:
    """A version of a table in a folder.

    Args:
        table: opened at the version.
    """

    table: DeltaTable

    def version(self) -> int:
        """Its number."""
        return int(self.table.version())

    def chunks(self, columns: Table) -> Iterator[pa.Table]:
        """The rows, in parts of at most 16,384."""
        folder = Path(unquote(urlparse(self.table.table_uri).path))
        yield arrow_schema(columns).empty_table()
        yield from read_parts(folder, columns, live_files(self.table), self.version())

    def add_view(self, connection: Any, name: str) -> None:
        """Add a view of the live files to DuckDB."""
        add_view(connection, name, self.table)


@dataclass(frozen=True)
class FolderTables:
    """The tables of a folder, see `VersionedTables`.

    Args:
        warehouse: the folder.
    """

    warehouse: Path
    is_local = True
    poll_seconds = 0.05

    def folder(self, name: str) -> Path:
        """The folder of a table."""
        return self.warehouse.joinpath(*name.split("."))

    def latest_version(self, name: str, known: int = -1) -> int:
        """The latest version, from the names of the log's files."""
        return latest_version(self.folder(name), known)

    def written_at(self, name: str, version: int) -> int:
        """The time of the commit's file."""
        return written_at(self.folder(name), version)

    def metadata(self, name: str, version: int) -> Mapping[str, Any] | None:
        """Metadata of a commit, from its file."""
        folder = self.folder(name)
        return read_metadata(folder, version) if commit_file(folder, version).exists() else None

    def created_at(self, name: str) -> datetime:
        """When the table was created, by its log."""
        created = DeltaTable(self.folder(name)).metadata().created_time or 0
        return datetime.fromtimestamp(created / 1_000, timezone.utc)

    def table_id(self, name: str) -> str:
        """The id in Delta's log."""
        return table_id(self.folder(name))

    def at(self, name: str, version: int) -> FolderVersion:
        """A version of a table.

        Raises:
            DeltaError: if it can't be read any more.
        """
        return FolderVersion(DeltaTable(self.folder(name), version=version))

    def rows(self, table: Table, version: int) -> Iterator[pa.Table]:
        """The rows of a version, in parts of at most 2,048."""
        return iterate_snapshot(self.folder(table.name), table, version)

    def find(
        self,
        name: str,
        columns: Sequence[str],
        conditions: Sequence[Condition] = (),
        version: int | None = None,
    ) -> pa.Table:
        """Rows that satisfy conditions, from files whose statistics do not exclude them.

        Raises:
            LookupError: if there is no table.
            DeltaError: if the version can't be read any more.
        """
        try:
            table = DeltaTable(self.folder(name), version=version)
        except TableNotFoundError as error:
            raise LookupError(name) from error
        wanted = all_expressions(conditions)
        return table.to_pyarrow_dataset().to_table(list(columns), filter=wanted)

    def changes(self, table: Table, version: int) -> pa.Table:
        """The changes of a commit, derived from its files."""
        return read_changes(self.folder(table.name), table, version - 1, version)
