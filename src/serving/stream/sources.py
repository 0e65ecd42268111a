"""What can be followed: a table, or a standing query. Positions give rows, two positions give changes."""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from lakehouse.access.role import Role
from lakehouse.access.table_view import TableView
from lakehouse.delta.changes import read_snapshot
from lakehouse.delta.log_files import latest_version, written_at
from lakehouse.delta.table_identity import table_id
from lakehouse.errors import MillraceError
from serving.admission import StandingText
from serving.result_changes import Row, result_changes
from serving.standing_query import compute
from serving.stream.row_changes import ChangeGroup, Position, RowChange
from serving.stream.row_json import key_json, row_json
from serving.stream.shared_changes import SharedChanges

_CHUNK = 200
"""Rows that are Python objects at a time."""
_RESULTS = 3
"""Results of a query that are kept: the last one, and those that readers catch up from."""


class Source(Protocol):
    """Something that has rows at each position, and changes between two."""

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables."""

    @property
    def key(self) -> tuple[str, ...]:
        """Columns that identify a row; empty if none do."""

    def latest(self, known: Position | None) -> Position | None:
        """The latest position; None while a table is missing.

        Raises:
            MillraceError: if a table has been made again since the known position.
        """

    def identities(self) -> dict[str, str]:
        """By table, what tells it from another one of the same name."""

    def written_at(self, position: Position) -> tuple[int, ...]:
        """When the commits of a position were written: another time means another table."""

    def between(self, after: Position, upto: Position) -> Iterator[ChangeGroup]:
        """Changes after a position, up to another one.

        Raises:
            MillraceError: if they can't be read any more.
        """

    def rows(self, position: Position) -> Iterator[Sequence[bytes]]:
        """All rows at a position as JSON, in chunks.

        Raises:
            MillraceError: if they can't be read any more.
        """


class TableSource:
    """A table, as far as a subscriber sees and wants it.

    Args:
        warehouse: folder of the tables.
        view: the table as its role sees it.
        wanted: the rows and columns of that which are shown.
        changes: those of all tables.
    """

    def __init__(self, warehouse: Path, view: TableView, wanted: TableView, changes: SharedChanges) -> None:
        self.tables = (view.table.name,)
        self.key = view.table.key
        self._folder = folder_of(warehouse, view.table.name)
        self._table = view.table
        self._view = view
        self._wanted = wanted
        self._shared = changes

    def latest(self, known: Position | None) -> Position:
        """The latest version; -1 while there is no table."""
        before = known[self._table.name] if known else -1
        version = latest_version(self._folder, before)
        if version < before:
            raise _made_again(self._table.name)
        return {self._table.name: version}

    def identities(self) -> dict[str, str]:
        """The table's id in Delta's log."""
        return {self._table.name: identity_of(self._folder)}

    def written_at(self, position: Position) -> tuple[int, ...]:
        """The time of the commit's file."""
        return (written_at(self._folder, position[self._table.name]),)

    def between(self, after: Position, upto: Position) -> Iterator[ChangeGroup]:
        """One group a commit."""
        name = self._table.name
        found = self._shared.iterate(self._folder, self._table, after[name], upto[name])
        for version, changes in enumerate(found, after[name] + 1):
            seen = self._wanted.apply_changes(self._view.apply_changes(changes))
            committed = seen["commit_timestamp"][0].as_py() if seen.num_rows else None
            yield ChangeGroup(
                [
                    change
                    for batch in seen.to_batches(_CHUNK)
                    for change in self._changes_of(batch.to_pylist())
                ],
                {name: version},
                committed.timestamp() if committed else None,
                bool(self.key),
            )

    def rows(self, position: Position) -> Iterator[Sequence[bytes]]:
        """The rows of a version."""
        if position[self._table.name] < 0:
            return
        rows = read_snapshot(self._folder, self._table, position[self._table.name]).rows
        for batch in self._wanted.apply(self._view.apply(rows)).to_batches(_CHUNK):
            yield [row_json(row) for row in batch.to_pylist()]

    def _changes_of(self, changes: Sequence[Mapping[str, Any]]) -> Iterator[RowChange]:
        for change in changes:
            old, new = change["before"], change["after"]
            before, after = (None if row is None else row_json(row) for row in (old, new))
            key = key_json(new or old, self.key) if self.key else after or before or b""
            yield RowChange(key, before, after)


class QuerySource:
    """The result of a standing query.

    Args:
        warehouse: folder of the tables.
        query: the query.
        most_rows: of a result.
        role: who asks.
    """

    def __init__(self, warehouse: Path, query: StandingText, most_rows: int, role: Role) -> None:
        self.tables = query.tables
        self._columns: list[str] = []
        self._warehouse = warehouse
        self._query = query
        self._most_rows = most_rows
        self._role = role
        self._results: OrderedDict[tuple[tuple[str, int], ...], list[Row]] = OrderedDict()
        self._lock = threading.Lock()
        if (versions := self.latest(None)) is not None:
            self._rows_at(versions)  # fails here if the query does

    @property
    def key(self) -> tuple[str, ...]:
        """The columns of GROUP BY, once a result is known; empty if they are not all in it."""
        places = self._query.key if self._columns else None
        return tuple(self._columns[place] for place in places or ())

    def latest(self, known: Position | None) -> Position | None:
        """Latest versions, at which no table was behind another."""
        versions = self._list(known)
        while (again := self._list(known)) != versions:
            versions = again
        if known and any(versions[name] < version for name, version in known.items()):
            raise _made_again(", ".join(self.tables))
        return None if min(versions.values()) < 0 else versions

    def identities(self) -> dict[str, str]:
        """The tables' ids in Delta's log."""
        return {name: identity_of(folder_of(self._warehouse, name)) for name in self.tables}

    def written_at(self, position: Position) -> tuple[int, ...]:
        """The times of the commits' files."""
        folders = {name: folder_of(self._warehouse, name) for name in sorted(position)}
        return tuple(written_at(folder, position[name]) for name, folder in folders.items())

    def between(self, after: Position, upto: Position) -> Iterator[ChangeGroup]:
        """One group: from one result to the other."""
        found = result_changes(self._rows_at(after), self._rows_at(upto), self._query.key)
        rows = []
        for change in found:
            old, new = (None if row is None else row_json(row) for row in (change.before, change.after))
            rows.append(RowChange(self._key_of(change.after or change.before or {}), old, new))
        committed = max(self.written_at(upto)) / 1e9
        yield ChangeGroup(rows, upto, committed or None, self._query.key is not None)

    def rows(self, position: Position) -> Iterator[Sequence[bytes]]:
        """The result."""
        rows = self._rows_at(position)
        for start in range(0, len(rows), _CHUNK):
            yield [row_json(row) for row in rows[start : start + _CHUNK]]

    def _key_of(self, row: Row) -> bytes:
        return row_json(row) if self._query.key is None else key_json(row, self.key)

    def _rows_at(self, position: Position) -> list[Row]:
        at = tuple(sorted(position.items()))
        with self._lock:
            if at in self._results:
                self._results.move_to_end(at)
                return self._results[at]
        found = compute(self._warehouse, self._query, position, self._role)
        if found.num_rows > self._most_rows:
            raise MillraceError(
                f"the query's result has {found.num_rows:,} rows, and may have {self._most_rows:,}",
                "Group or filter it, or subscribe to the table",
            )
        self._columns = found.column_names
        rows: list[Row] = found.to_pylist()
        with self._lock:
            self._results[at] = rows
            while len(self._results) > _RESULTS:
                self._results.popitem(last=False)
        return rows

    def _list(self, known: Position | None) -> dict[str, int]:
        return {
            name: latest_version(folder_of(self._warehouse, name), (known or {}).get(name, -1))
            for name in self.tables
        }


def folder_of(warehouse: Path, name: str) -> Path:
    """The folder of a table."""
    return warehouse.joinpath(*name.split("."))


def identity_of(folder: Path) -> str:
    """The first eight characters of a table's id; empty while there is no table."""
    return table_id(folder)[:8]


def _made_again(name: str) -> MillraceError:
    return MillraceError(f"{name} was made again", "Begin with a snapshot")
