"""A standing query as a source: one group of changes for each set of versions that it is computed at."""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any

from lakehouse.access.role import Role
from lakehouse.readers.versioned_tables import VersionedTables, identities_of, latest_versions
from serving.admission import StandingText
from serving.processes.query_processes import Opened, QueryProcesses
from serving.processes.result import Result
from serving.sources.query_result import key_of, result_parts
from serving.sources.row_changes import ChangeGroup, Position

_RESULTS = 2
"""Number of cached results: those between which there are changes."""


class QuerySource:
    """The result of a standing query.

    Args:
        tables: the tables.
        query: the query.
        role: role of the reader; None: a reader who sees everything.
        processes: run the query within limits; None: it runs here, without limits.
        reader: name of the reader.
        opened: the query with its first result, if that is known.
    """

    def __init__(
        self,
        tables: VersionedTables,
        query: StandingText,
        role: Role | None = None,
        processes: QueryProcesses | None = None,
        reader: str = "",
        opened: Opened | None = None,
    ) -> None:
        self.tables = query.tables
        self._columns: list[str] = []
        self._tables = tables
        self._query = query
        self._processes = processes
        self._reader = reader
        self._role = role
        self._results: OrderedDict[tuple[tuple[int, ...], ...], Result] = OrderedDict()
        self._lock = threading.Lock()
        self._first = self.latest(None) if opened is None else opened.versions
        if opened is not None and self._first is not None:
            self._keep(self._first, opened.result)
        elif self._first is not None:
            self._result_at(self._first)  # fails here if the query does

    @property
    def key(self) -> tuple[str, ...]:
        """The columns of GROUP BY; empty before the first result, or if it does not have all of them."""
        return key_of(self._query, self._columns)

    def first(self) -> Position | None:
        """The position of the first result; None while a table was missing."""
        return self._first

    def latest(self, known: Position | None) -> Position | None:
        """The latest versions of the tables, all read at the same moment."""
        return latest_versions(self._tables, self.tables, known)

    def identities(self) -> dict[str, str]:
        """The tables' ids in Delta's log."""
        return identities_of(self._tables, self.tables)

    def written_at(self, position: Position) -> tuple[int, ...]:
        """The times of the commits."""
        return tuple(self._tables.written_at(name, position[name]) for name in self.tables)

    def commit(self, position: Position) -> Mapping[str, Any]:
        """Empty, since a group may contain changes of several tables."""
        del position
        return {}

    def between(self, after: Position, upto: Position) -> Iterator[ChangeGroup]:
        """One group with the differences between the two results."""
        before = self._result_at(after)
        rows, has_key = before.changes_to(self._result_at(upto))
        committed = max(self.written_at(upto)) / 1e9
        yield ChangeGroup(rows, upto, committed or None, has_key)

    def rows(self, position: Position, reader: str = "") -> Result:
        """The result, which is kept for the reader who has opened the query."""
        del reader
        return self._result_at(position)

    def _result_at(self, position: Position) -> Result:
        at = self._place(position)
        with self._lock:
            if at in self._results:
                self._results.move_to_end(at)
                return self._results[at]
            while len(self._results) >= _RESULTS:
                self._results.popitem(last=False)
        return self._keep(position, self._compute(position))

    def _keep(self, position: Position, found: Result) -> Result:
        self._columns = found.columns
        with self._lock:
            self._results[self._place(position)] = found
        return found

    def _place(self, position: Position) -> tuple[tuple[int, ...], ...]:
        return tuple(position[name] for name in self.tables), self.written_at(position)

    def _compute(self, position: Position) -> Result:
        if self._processes is None:
            return Result(result_parts(self._tables, self._query, position, self._role))
        return self._processes.compute(self._tables, self._query, position, self._role, self._reader)
