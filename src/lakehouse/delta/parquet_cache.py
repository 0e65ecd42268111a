"""A cache of columns of Parquet files, which are immutable."""

import os
import threading
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lakehouse.rows.arrow_times import in_micros

_MIN_BYTES = 512 * 1024 * 1024
_SHARE = 8  # of the memory
_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
Columns = dict[str, pa.ChunkedArray]


def _memory() -> int:
    """Bytes of memory of the machine, or of the container."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # no container, or one without a limit
        return min(physical, int(_CGROUP_LIMIT.read_text(encoding="ascii")))
    return physical


class ParquetCache:
    """Keeps columns of the files that were read last, up to an eighth of the memory, and at least 512 MiB."""

    def __init__(self) -> None:
        self._max_bytes = max(_MIN_BYTES, _memory() // _SHARE)
        self._lock = threading.Lock()
        self._files: OrderedDict[Path, Columns] = OrderedDict()
        self._bytes = 0

    def read(self, path: Path, schema: pa.Schema) -> pa.Table:
        """Columns of a file; null where it was written before the column was declared.

        Args:
            path: of the file.
            schema: names and types of the columns; times are given in microseconds.
        """
        names = schema.names
        with self._lock:
            found = dict(self._files.get(path, {}))
            if found:
                self._files.move_to_end(path)
        if missing := [name for name in names if name not in found]:
            found |= self._load(path, pa.schema([schema.field(name) for name in missing]))
        return pa.table([found[name] for name in names], names=names)

    def put(self, path: Path, rows: pa.Table) -> None:
        """Keep the columns of a file that was just written; times in microseconds."""
        self._keep(path, {name: rows[name] for name in rows.column_names})

    def drop(self, paths: Iterable[Path]) -> None:
        """Keep nothing of files that are no part of a table any more."""
        with self._lock:
            for path in paths:
                self._bytes -= _size(self._files.pop(path, {}))

    def _load(self, path: Path, schema: pa.Schema) -> dict[str, pa.ChunkedArray]:
        checked = {"page_checksum_verification": True, "coerce_int96_timestamp_unit": "us"}
        with pq.ParquetFile(path, **checked) as file:
            there = set(file.schema_arrow.names)
            rows = in_micros(file.read([name for name in schema.names if name in there]))
            count = file.metadata.num_rows
        wanted = in_micros(schema.empty_table()).schema
        found = {}
        for field in wanted:
            column = (
                rows[field.name] if field.name in there else pa.chunked_array([pa.nulls(count, field.type)])
            )
            found[field.name] = column.cast(field.type)
        self._keep(path, found)
        return found

    def _keep(self, path: Path, columns: Columns) -> None:
        with self._lock:
            known = self._files.setdefault(path, {})
            self._files.move_to_end(path)
            new = {name: column for name, column in columns.items() if name not in known}
            known |= new
            self._bytes += _size(new)
            while self._bytes > self._max_bytes:
                _, oldest = self._files.popitem(last=False)
                self._bytes -= _size(oldest)


def _size(columns: Columns) -> int:
    return sum(column.nbytes for column in columns.values())
