"""A cache of columns of Parquet files, which are immutable."""

import os
import threading
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lakehouse.rows.arrow_chunks import one_chunk
from lakehouse.rows.arrow_times import in_micros

_MIN_BYTES = 512 * 1024 * 1024
_SHARE = 8  # of the memory
_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
Paths = tuple[str, ...]
Columns = dict[str, pa.ChunkedArray]


def _memory() -> int:
    """Bytes of memory of the machine, or of the container."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # no container, or one without a limit
        return min(physical, int(_CGROUP_LIMIT.read_text(encoding="ascii")))
    return physical


class ParquetCache:
    """A least-recently-used cache of columns of files: an eighth of the memory, but at least 512 MiB.

    Files that are read together are one entry, under all their paths.
    """

    def __init__(self) -> None:
        self._max_bytes = max(_MIN_BYTES, _memory() // _SHARE)
        self._lock = threading.Lock()
        self._files: OrderedDict[Paths, Columns] = OrderedDict()
        self._bytes = 0

    def read(self, paths: Paths, schema: pa.Schema) -> pa.Table:
        """Columns of files as one table; null where a file was written before the column was declared.

        Args:
            paths: of the files.
            schema: names and types of the columns; times are given in microseconds.
        """
        names = schema.names
        with self._lock:
            found = dict(self._files.get(paths, {}))
            if found:
                self._files.move_to_end(paths)
        if missing := [name for name in names if name not in found]:
            found |= self._load(paths, pa.schema([schema.field(name) for name in missing]))
        return pa.table([found[name] for name in names], names=names)

    def put(self, paths: Paths, rows: pa.Table) -> None:
        """Cache columns of files that were just written; times in microseconds."""
        self._keep(paths, {name: rows[name] for name in rows.column_names})

    def join(self, paths: Paths) -> None:
        """Join the columns that are cached for every one of the files, and cache them as one entry."""
        with self._lock:
            parts = [self._files.get((path,), {}) for path in paths]
        names = set(parts[0]).intersection(*parts[1:])
        self._keep(paths, {name: _joined([part[name] for part in parts]) for name in names})
        self.drop((path,) for path in paths)

    def drop(self, dropped: Iterable[Paths]) -> None:
        """Drop the columns of files that will not be read any more."""
        with self._lock:
            for paths in dropped:
                self._bytes -= _size(self._files.pop(paths, {}))

    def _load(self, paths: Paths, schema: pa.Schema) -> Columns:
        parts = [read_columns(path, schema) for path in paths]
        found = {name: _joined([part[name] for part in parts]) for name in schema.names}
        self._keep(paths, found)
        return found

    def _keep(self, paths: Paths, columns: Columns) -> None:
        with self._lock:
            known = self._files.setdefault(paths, {})
            self._files.move_to_end(paths)
            new = {name: column for name, column in columns.items() if name not in known}
            known |= new
            self._bytes += _size(new)
            while self._bytes > self._max_bytes:
                _, oldest = self._files.popitem(last=False)
                self._bytes -= _size(oldest)


def read_columns(path: str, schema: pa.Schema) -> Columns:
    """Columns of a file; see `ParquetCache.read`."""
    checked = {"page_checksum_verification": True, "coerce_int96_timestamp_unit": "us"}
    with pq.ParquetFile(path, **checked) as file:
        there = set(file.schema_arrow.names)
        rows = in_micros(file.read([name for name in schema.names if name in there]))
        count = file.metadata.num_rows
    found = {}
    for field in in_micros(schema.empty_table()).schema:
        column = rows[field.name] if field.name in there else pa.chunked_array([pa.nulls(count, field.type)])
        found[field.name] = column.cast(field.type)
    return found


def _joined(parts: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Rows of several files as one array, which is quicker to search than many."""
    if len(parts) == 1:
        return parts[0]
    return one_chunk(pa.chunked_array([chunk for part in parts for chunk in part.chunks], parts[0].type))


def _size(columns: Columns) -> int:
    return sum(column.nbytes for column in columns.values())
