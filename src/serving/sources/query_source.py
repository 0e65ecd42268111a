"""A standing query as a source: one group of changes for each set of versions that it is computed at."""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lakehouse.access.role import Role
from lakehouse.delta.log_files import written_at
from serving.admission import StandingText
from serving.query_limits import QueryRunner
from serving.sources.query_result import compute
from serving.sources.row_changes import ChangeGroup, KeyedRow, Position, result_changes
from serving.sources.row_json import key_json, row_json
from serving.sources.source import CHUNK, folder_of, identities_of, latest_versions

_RESULTS = 3
"""Number of cached results: the last one, and those from which readers catch up."""


class QuerySource:
    """The result of a standing query.

    Args:
        warehouse: folder of the tables.
        query: the query.
        role: role of the reader; None: a reader who sees everything.
        runner: runs the query within limits; None: without limits.
    """

    def __init__(
        self,
        warehouse: Path,
        query: StandingText,
        role: Role | None = None,
        runner: QueryRunner | None = None,
    ) -> None:
        self.tables = query.tables
        self._columns: list[str] = []
        self._warehouse = warehouse
        self._query = query
        self._runner = runner
        self._role = role
        self._results: OrderedDict[tuple[tuple[int, ...], ...], list[KeyedRow]] = OrderedDict()
        self._lock = threading.Lock()
        if (versions := self.latest(None)) is not None:
            self._rows_at(versions)  # fails here if the query does

    @property
    def key(self) -> tuple[str, ...]:
        """The columns of GROUP BY; empty before the first result, or if it does not have all of them."""
        places = self._query.key if self._columns else None
        return tuple(self._columns[place] for place in places or ())

    def latest(self, known: Position | None) -> Position | None:
        """The latest versions of the tables, all read at the same moment."""
        return latest_versions(self._warehouse, self.tables, known)

    def identities(self) -> dict[str, str]:
        """The tables' ids in Delta's log."""
        return identities_of(self._warehouse, self.tables)

    def written_at(self, position: Position) -> tuple[int, ...]:
        """The times of the commits' log files."""
        return tuple(written_at(folder_of(self._warehouse, name), position[name]) for name in self.tables)

    def commit(self, position: Position) -> Mapping[str, Any]:
        """Empty, since a group may contain changes of several tables."""
        del position
        return {}

    def between(self, after: Position, upto: Position) -> Iterator[ChangeGroup]:
        """One group with the differences between the two results."""
        rows, has_key = result_changes(self._rows_at(after), self._rows_at(upto))
        committed = max(self.written_at(upto)) / 1e9
        yield ChangeGroup(rows, upto, committed or None, has_key)

    def rows(self, position: Position) -> Iterator[Sequence[bytes]]:
        """The result."""
        rows = self._rows_at(position)
        for start in range(0, len(rows), CHUNK):
            yield [row for _, row in rows[start : start + CHUNK]]

    def _rows_at(self, position: Position) -> list[KeyedRow]:
        at = tuple(position[name] for name in self.tables), self.written_at(position)
        with self._lock:
            if at in self._results:
                self._results.move_to_end(at)
                return self._results[at]
        rows = self._compute(position)
        with self._lock:
            self._results[at] = rows
            while len(self._results) > _RESULTS:
                self._results.popitem(last=False)
        return rows

    def _compute(self, position: Position) -> list[KeyedRow]:
        found = compute(self._warehouse, self._query, position, self._role, self._runner)
        self._columns = found.column_names
        rows = (row for batch in found.to_batches(CHUNK) for row in batch.to_pylist())
        if key := self.key:
            return [(key_json(row, key), row_json(row)) for row in rows]
        return [(encoded, encoded) for encoded in map(row_json, rows)]
