"""Changes of commits, which are derived from the log once for all who follow a table."""

import threading
from collections import OrderedDict
from pathlib import Path

import pyarrow as pa

from lakehouse.contracts import Table
from lakehouse.delta.changes import read_changes
from lakehouse.delta.log_files import written_at

_Key = tuple[str, int, int]


class SharedChanges:
    """The changes of the last commits that were read.

    Args:
        most_bytes: of changes that are kept; 0: none are.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._reading: dict[_Key, threading.Lock] = {}
        self._kept: OrderedDict[_Key, pa.Table] = OrderedDict()
        self._bytes = 0

    def read(self, folder: Path, table: Table, version: int) -> pa.Table:
        """The changes of the commit that made a version; see `lakehouse.delta.changes`.

        Args:
            folder: of the table.
            table: its contract.
            version: the version.

        Raises:
            MillraceError: if they can't be read any more.
        """
        key = (table.name, version, written_at(folder, version))
        with self._lock:
            reading = self._reading.setdefault(key, threading.Lock())
        with reading:
            with self._lock:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    return self._kept[key]
            found = read_changes(folder, table, version - 1, version)
            self._keep(key, found)
        return found

    def _keep(self, key: _Key, found: pa.Table) -> None:
        with self._lock:
            self._reading.pop(key, None)
            self._kept[key] = found
            self._bytes += found.nbytes
            while self._bytes > self._most_bytes:
                self._bytes -= self._kept.popitem(last=False)[1].nbytes
