"""The change feed of one table, followed as it is written."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lakehouse.access.role import Role
from lakehouse.contracts import Table
from lakehouse.delta.changes import read_changes, read_snapshot
from lakehouse.delta.log_files import latest_version
from lakehouse.delta.table_identity import table_id
from lakehouse.errors import MillraceError
from serving.causes.causes import Causes
from serving.json_lines import LineGroup
from serving.query_tree import unknown_table

_CHUNK = 1_000  # rows that are Python objects at a time


class TableFeed:
    """Changes of a table, one group a commit.

    Args:
        warehouse: folder of the tables.
        table: the table's contract.
        version: the last version whose changes are known; None: begin with a snapshot.
        known_id: id of the table of that version; empty if it is not known.
        causes: adds the field `caused_by` to changes; a commit is then read once its input is known. None: no
            such field.
        role: who reads; None: who sees everything.

    Raises:
        MillraceError: if the table is not there for the role.
    """

    def __init__(
        self,
        warehouse: Path,
        table: Table,
        version: int | None = None,
        known_id: str = "",
        causes: Causes | None = None,
        role: Role | None = None,
    ) -> None:
        self._causes = causes
        self._view = None if role is None else role.view(table)
        if role is not None and self._view is None:
            raise unknown_table(table.name, role.tables)
        self._folder = warehouse / table.layer / table.short_name
        self._table = table
        self._version = version
        self._id = known_id
        self._is_verified = False

    @property
    def position(self) -> dict[str, int]:
        """The version whose changes are known, by the table's name; empty before a snapshot."""
        return {} if self._version is None else {self._table.name: self._version}

    @property
    def table_ids(self) -> dict[str, str]:
        """The id of the table, by its name."""
        return {self._table.name: self._id}

    def poll(self) -> Iterator[LineGroup]:
        """Groups since the last poll; none if there is no new version. Then only the log is listed.

        Raises:
            MillraceError: if the table was made again, or changes are gone.
        """
        if self._version is None:
            if latest_version(self._folder) < 0:
                return
            self._verify()
            snapshot = read_snapshot(self._folder, self._table)
            self._verify()
            self._version = snapshot.version
            rows = snapshot.rows if self._view is None else self._view.apply(snapshot.rows)
            yield self._group(self._inserts(rows))
        latest = latest_version(self._folder, self._version)
        if latest < self._version:
            raise self._made_again(f"has no version {self._version}: it was made again")
        if latest > self._version or not self._is_verified:
            self._verify()
        for version in range(self._version + 1, latest + 1):
            if self._causes and not self._causes.is_known(self._table.name, version):
                return
            changes = read_changes(self._folder, self._table, version - 1, version)
            self._verify()  # again: the table may have been replaced while its files were read
            self._version = version
            shown = changes if self._view is None else self._view.apply_changes(changes)
            yield self._group(self._changes(shown, version))

    def skip(self) -> None:
        """Leave out what is there."""
        self._version = latest_version(self._folder)
        self._verify()

    def _verify(self) -> None:
        """Check that the table is still the one whose version is known."""
        found = table_id(self._folder)
        self._id = self._id or found
        if found != self._id:
            raise self._made_again("was made again")
        self._is_verified = bool(found)

    def _made_again(self, what: str) -> MillraceError:
        return MillraceError(
            f"{self._table.name} {what}",
            "Begin with a snapshot: leave out --from, and remove the file of --resume",
        )

    def _group(self, changes: Iterator[Mapping[str, Any]]) -> LineGroup:
        return LineGroup(changes, self.position, self.table_ids)

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

    def _changes(self, rows: Any, version: int) -> Iterator[Mapping[str, Any]]:
        if self._causes is None:
            for row in _rows_of(rows):
                yield {"table": self._table.name, **row}
            return
        changes = list(_rows_of(rows))
        causes = self._causes.find(self._table.name, version, changes)
        for row, cause in zip(changes, causes, strict=True):
            yield {"table": self._table.name, **row, "caused_by": cause}


def _rows_of(rows: Any) -> Iterator[dict[str, Any]]:
    for batch in rows.to_batches(max_chunksize=_CHUNK):
        yield from batch.to_pylist()
