"""The commits of a table in a catalog, from its history."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

_FEW = 10
"""Commits that are read of the history, unless more are new."""
_MOST_KEPT = 200_000
"""More than a table has within its log retention."""
_LOOK_SECONDS = 10.0
"""Seconds between two reads of a history that has no later commit: the table may have been created again."""


class HistoryEntry(NamedTuple):
    """A commit.

    Args:
        written_at: when it was committed, in nanoseconds since 1970.
        user_metadata: JSON text of its metadata; None if it has none.
    """

    written_at: int
    user_metadata: str | None


@dataclass
class TableHistory:
    """What is known of a table's commits. Threads that ask at the same time share one query.

    Args:
        read: reads the latest commits, of the columns of `DESCRIBE HISTORY`; raises `LookupError` if there is
            no table.
        has_later: whether there may be a commit after a version, which takes less time to find out.
    """

    read: Callable[[int], pa.Table]
    has_later: Callable[[int], bool] = lambda _: True
    table_id: str = ""
    """Its id; empty if it is not known, or since a table of this name was created again."""
    _commits: dict[int, HistoryEntry] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _read_at: float = -1.0
    _looked_at: float = -_LOOK_SECONDS

    def latest(self) -> int:
        """The latest version now; -1 if there is no table."""
        asked = time.monotonic()
        with self._lock:
            if self._read_at <= asked:  # else a query that began later has answered
                began, known = time.monotonic(), max(self._commits, default=-1)
                if known < 0 or began - self._looked_at >= _LOOK_SECONDS or self.has_later(known):
                    self._look(_FEW)
                    self._looked_at = began
                self._read_at = began
            return max(self._commits, default=-1)

    def find(self, version: int) -> HistoryEntry | None:
        """A commit; None if the history does not have it any more."""
        with self._lock:
            if not self._commits:
                self._look(_FEW)
            latest = max(self._commits, default=-1)
            if version not in self._commits and 0 <= version <= latest:
                self._look(max(latest - version + 1, min(2 * len(self._commits), _MOST_KEPT)))
            return self._commits.get(version)

    def _look(self, commits: int) -> None:
        try:
            found = _entries(self.read(commits))
            known = max(self._commits, default=-1)
            if 0 <= known < min(found, default=0) - 1:
                found = _entries(self.read(max(found) - known + 1))
        except LookupError:
            found = {}
        both = self._commits.keys() & found.keys()
        is_same = max(found, default=-1) >= max(self._commits, default=-1)
        if not is_same or any(self._commits[each].written_at != found[each].written_at for each in both):
            self._commits, self.table_id = {}, ""
        self._commits |= found
        for old in sorted(self._commits)[:-_MOST_KEPT]:
            del self._commits[old]


def _entries(history: pa.Table) -> dict[int, HistoryEntry]:
    written = history["timestamp"].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
    rows = zip(history["version"].to_pylist(), written.to_pylist(), history["userMetadata"], strict=True)
    return {version: HistoryEntry(1_000 * micros, text.as_py()) for version, micros, text in rows}
