"""The change feed of one table, followed as it is written."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lakehouse.access.role import Role
from lakehouse.contracts import Table
from lakehouse.delta.changes import iterate_changes, read_snapshot
from lakehouse.delta.log_files import latest_version
from lakehouse.errors import MillraceError
from serving.json_lines import LineGroup
from serving.query_tree import unknown_table

_CHUNK = 1_000  # rows that are Python objects at a time


class TableFeed:
    """Changes of a table, one group a commit.

    Args:
        warehouse: folder of the tables.
        table: the table's contract.
        version: the last version whose changes are known; None: begin with a snapshot.
        role: who reads; None: who sees everything.

    Raises:
        MillraceError: if the table is not there for the role.
    """

    def __init__(
        self, warehouse: Path, table: Table, version: int | None = None, role: Role | None = None
    ) -> None:
        self._view = None if role is None else role.view(table)
        if role is not None and self._view is None:
            raise unknown_table(table.name, role.tables)
        self._folder = warehouse / table.layer / table.short_name
        self._table = table
        self._version = version

    @property
    def position(self) -> dict[str, int]:
        """The version whose changes are known, by the table's name; empty before a snapshot."""
        return {} if self._version is None else {self._table.name: self._version}

    def poll(self) -> Iterator[LineGroup]:
        """Groups since the last poll; none if there is no new version. Then only the log is listed.

        Raises:
            MillraceError: if the table has fewer versions than are known, or changes are gone.
        """
        if self._version is None:
            if latest_version(self._folder) < 0:
                return
            snapshot = read_snapshot(self._folder, self._table)
            self._version = snapshot.version
            rows = snapshot.rows if self._view is None else self._view.apply(snapshot.rows)
            yield self._group(self._inserts(rows))
        latest = latest_version(self._folder, self._version)
        if latest < self._version:
            raise MillraceError(
                f"{self._table.name} has no version {self._version}: it was made again",
                "Begin with a snapshot: leave out --from, and remove the file of --resume",
            )
        for changes in iterate_changes(self._folder, self._table, self._version, latest):
            self._version += 1
            shown = changes if self._view is None else self._view.apply_changes(changes)
            yield self._group(self._changes(shown))

    def skip(self) -> None:
        """Leave out what is there."""
        self._version = latest_version(self._folder)

    def _group(self, changes: Iterator[Mapping[str, Any]]) -> LineGroup:
        return LineGroup(changes, self.position)

    def _inserts(self, rows: Any) -> Iterator[Mapping[str, Any]]:
        version = self._version
        for row in _rows_of(rows):
            yield {
                "table": self._table.name,
                "change": "insert",
                "commit_version": version,
                "before": None,
                "after": row,
            }

    def _changes(self, rows: Any) -> Iterator[Mapping[str, Any]]:
        for row in _rows_of(rows):
            yield {"table": self._table.name, **row}


def _rows_of(rows: Any) -> Iterator[dict[str, Any]]:
    for batch in rows.to_batches(max_chunksize=_CHUNK):
        yield from batch.to_pylist()
