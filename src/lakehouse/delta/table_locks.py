"""Locks of tables and counts of rewrites, shared by all jobs of this application."""

import threading
from collections import Counter, defaultdict
from pathlib import Path

_LOCKS: dict[tuple[Path, str], threading.RLock] = defaultdict(threading.RLock)
_REWRITES: Counter[tuple[Path, str]] = Counter()


class TableLocks:
    """Those of one warehouse.

    Args:
        warehouse: its folder.
    """

    def __init__(self, warehouse: Path) -> None:
        self._warehouse = warehouse

    def lock(self, name: str) -> threading.RLock:
        """The lock of a table, or of the layer that it stands for."""
        return _LOCKS[self._warehouse, name]

    def note_rewrite(self, name: str) -> None:
        """A table has been changed in another way than by adding rows."""
        _REWRITES[self._warehouse, name] += 1

    def rewrite_count(self, name: str) -> int:
        """How often that was."""
        return _REWRITES[self._warehouse, name]
