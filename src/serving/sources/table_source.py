"""A table as a source, with one group of changes per commit."""

from collections.abc import Iterator, Mapping
from functools import partial, reduce
from itertools import chain, repeat, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakehouse.access.role import Role
from lakehouse.access.table_view import TableView
from lakehouse.contracts import TABLES
from lakehouse.contracts.table import Table
from lakehouse.readers.versioned_tables import VersionedTables, identities_of
from lakehouse.rows.row_json import key_json, row_json
from serving.query_tree import unknown_table
from serving.reader_budget import ReaderBudget
from serving.sources.row_changes import ChangeGroup, Position, RowChange
from serving.sources.shared_changes import SharedChanges
from serving.sources.source import CHUNK
from serving.sources.stored_rows import StoredRows

if TYPE_CHECKING:
    from serving.causes.causes import Causes

_SIDES = ("before", "after")


class TableSource:
    """The rows and columns of a table that a reader may see and asks for.

    Args:
        tables: the tables.
        view: the table as the reader's role sees it.
        wanted: the reader's conditions and columns; None for all.
        changes: cache of the changes of all tables; None: no cache.
        causes: finds the cause of each change, for a reader who sees everything. Changes then end before the
            first commit whose input is not known yet. None: no causes.
        budget: counts the bytes of rows that are kept for readers; None: without limit.
        folder: for these rows; None: in the system's folder of temporary files.
    """

    def __init__(
        self,
        tables: VersionedTables,
        view: TableView,
        wanted: TableView | None = None,
        changes: SharedChanges | None = None,
        causes: "Causes | None" = None,
        budget: ReaderBudget | None = None,
        folder: Path | None = None,
    ) -> None:
        self.tables = (view.table.name,)
        self.key = view.table.key
        self._tables = tables
        self._table = view.table
        self._name = view.table.name
        self._views = (view,) if wanted is None else (view, wanted)
        self._shared = changes or SharedChanges(0)
        self._causes = causes
        self._budget = budget
        self._folder = folder

    def latest(self, known: Position | None) -> Position:
        """The latest version; -1 while there is no table."""
        return {self._name: self._tables.latest_version(self._name, known[self._name] if known else -1)}

    def first(self) -> Position:
        """The latest version."""
        return self.latest(None)

    def identities(self) -> dict[str, str]:
        """The table's id in Delta's log."""
        return identities_of(self._tables, self.tables)

    def written_at(self, position: Position) -> tuple[int, ...]:
        """The time of the commit."""
        return (self._tables.written_at(self._name, position[self._name]),)

    def commit(self, position: Position) -> Mapping[str, Any]:
        """The table and its version."""
        return {"table": self._name, "change": None, "commit_version": position[self._name]}

    def between(self, after: Position, upto: Position) -> Iterator[ChangeGroup]:
        """One group per commit."""
        versions: Iterator[int] = iter(range(after[self._name] + 1, upto[self._name] + 1))
        if self._causes is not None:
            versions = takewhile(partial(self._causes.is_known, self._name), versions)
        for version in versions:
            yield self._group(version, self._shared.read(self._tables, self._table, version))

    def rows(self, position: Position, reader: str = "") -> StoredRows:
        """The rows of a version, with the columns that the reader sees and asks for."""
        return StoredRows(self._parts(position[self._name]), self._budget, reader, self._folder)

    def _parts(self, version: int) -> Iterator[pa.Table]:
        if version >= 0:
            for part in self._tables.rows(self._source_columns(), version):
                yield reduce(lambda rows, view: view.apply(rows), self._views, part)

    def _source_columns(self) -> Table:
        """The contract with only the columns that are shown, and those of filters."""
        needed = self._views[-1].contract
        for view in reversed(self._views):
            needed = view.source_columns(frozenset(needed.column_names))
        return needed

    def _group(self, version: int, changes: pa.Table) -> ChangeGroup:
        for view in self._views:
            changes = view.apply_changes(changes)
        position = {self._name: version}
        commit = {**self.commit(position)}
        for columns in changes.drop_columns(list(_SIDES)).slice(0, 1).to_pylist():
            commit |= columns
        committed = commit.get("commit_timestamp")
        return ChangeGroup(
            self._changes_of(version, changes),
            position,
            committed.timestamp() if committed else None,
            bool(self.key),
            commit,
        )

    def _changes_of(self, version: int, changes: pa.Table) -> Iterator[RowChange]:
        causes: Iterator[bytes | None] = repeat(None)
        if self._causes is not None:
            causes = map(row_json, self._causes.find(self._name, version, changes.to_pylist()))
        batches = (batch.to_pylist() for batch in changes.select(_SIDES).to_batches(CHUNK))
        for change, cause in zip(chain.from_iterable(batches), causes, strict=False):
            old, new = (change[side] for side in _SIDES)
            before, after = (None if row is None else row_json(row) for row in (old, new))
            key = key_json(new or old, self.key) if self.key else after or before or b""
            yield RowChange(key, before, after, cause)


def view_of(role: Role, name: str) -> TableView:
    """A table as a role sees it.

    Raises:
        MillraceError: if the role may not see the table.
    """
    view = role.view(TABLES[name]) if name in TABLES else None
    if view is None:
        raise unknown_table(name, role.tables)
    return view
