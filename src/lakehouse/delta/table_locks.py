"""Locks of tables and counts of rewrites, shared by all jobs of an application."""

import threading
from collections import Counter, defaultdict
from pathlib import Path

_LOCKS: dict[tuple[Path, str], threading.RLock] = defaultdict(threading.RLock)
_CREATION = threading.Lock()  # a defaultdict can give two threads different locks
_REWRITES: Counter[tuple[Path, str]] = Counter()


class TableLocks:
    """Locks and counts of one warehouse.

    Args:
        warehouse: its folder.
    """

    def __init__(self, warehouse: Path) -> None:
        self._warehouse = warehouse

    def lock(self, name: str) -> threading.RLock:
        """The lock of a table, or of the layer that it represents."""
        with _CREATION:
            return _LOCKS[self._warehouse, name]

    def note_rewrite(self, name: str) -> None:
        """Count a commit that rewrites rows."""
        _REWRITES[self._warehouse, name] += 1

    def rewrite_count(self, name: str) -> int:
        """The number of such commits."""
        return _REWRITES[self._warehouse, name]
