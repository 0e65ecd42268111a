"""Caches the changes of commits, so that each is derived once for all followers of a table."""

import threading
from collections import OrderedDict
from weakref import WeakValueDictionary

import pyarrow as pa

from lakehouse.contracts import Table
from lakehouse.readers.versioned_tables import VersionedTables

_Key = tuple[str, int, int]


class SharedChanges:
    """A cache of the changes of recently read commits.

    Args:
        most_bytes: maximum bytes of cached changes; 0: nothing is cached.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._reading: WeakValueDictionary[_Key, threading.Lock] = WeakValueDictionary()
        self._kept: OrderedDict[_Key, pa.Table] = OrderedDict()
        self._bytes = 0

    def read(self, tables: VersionedTables, table: Table, version: int) -> pa.Table:
        """The changes of the commit that made a version; see `VersionedTables.changes`.

        Args:
            tables: the tables.
            table: contract of the table.
            version: the version.

        Raises:
            MillraceError: if they can't be read any more.
        """
        key = (table.name, version, tables.written_at(table.name, version))
        with self._lock:
            reading = self._reading.setdefault(key, threading.Lock())
        with reading:
            with self._lock:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    return self._kept[key]
            found = tables.changes(table, version)
            self._keep(key, found)
        return found

    def _keep(self, key: _Key, found: pa.Table) -> None:
        with self._lock:
            self._kept[key] = found
            self._bytes += found.nbytes
            while self._bytes > self._most_bytes:
                self._bytes -= self._kept.popitem(last=False)[1].nbytes
