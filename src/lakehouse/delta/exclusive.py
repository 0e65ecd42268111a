"""Locks of tables between the jobs of one application.

Between applications, `CompareAndSwap` finds conflicting commits. Jobs of one application wait for each other
instead, since a conflict repeats a whole micro-batch.
"""

import threading
from collections import defaultdict
from pathlib import Path

_LOCKS: dict[tuple[Path, str], threading.RLock] = defaultdict(threading.RLock)
_CREATION = threading.Lock()  # a defaultdict can give two threads different locks


def lock_of(warehouse: Path, name: str) -> threading.RLock:
    """The lock of a table, or of the layer that it represents."""
    with _CREATION:
        return _LOCKS[warehouse, name]
