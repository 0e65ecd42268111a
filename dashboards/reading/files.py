"""The files of one version of a Delta table: large ones are scanned, small ones kept in memory.

A file never changes, so what has been read of it stays right whatever the table's next version is.
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl
from columns import COLUMNS

from reading.frames import condition, empty
from reading.query import Query, Where

_SMALL = 256 * 2**10  # bytes of a file that is kept: what a micro-batch has written, or some
_MOST_SMALL = 6 * 2**20  # bytes of them all, of one table
_MOST_CHUNKS = 8  # that small files are kept in
_MOST_SLICES = 64 * 2**20  # bytes of slices of large files, of all tables
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Files:
    """Where the rows of a version are.

    Args:
        table: `layer.table`.
        large: paths of files that are scanned.
        small: paths of files that are kept.
        partitions: columns that stand in the paths.
        plain: there is nothing to a row but its file; without it, polars is to follow the log itself.
    """

    table: str
    large: tuple[str, ...]
    small: frozenset[str]
    partitions: tuple[str, ...] = ()
    plain: bool = True

    @classmethod
    def of(cls, table: str, sizes: dict[str, int], partitions: Sequence[str] = ()) -> "Files":
        """Split files by their size in bytes; what holds whole records is never kept."""
        small: set[str] = set()
        room = 0 if pl.Binary in COLUMNS[table].values() else _MOST_SMALL
        for path, size in sorted(sizes.items(), key=lambda each: each[1]):
            room -= size
            if size > _SMALL or room < 0:
                break
            small.add(path)
        large = tuple(path for path in sizes if path not in small)
        return cls(table, large, frozenset(small), tuple(partitions))

    def scan(self, paths: Sequence[str]) -> pl.LazyFrame:
        """Some of them, with the columns of the table's contract; those that a file lacks are null."""
        columns = COLUMNS[self.table]
        return pl.scan_parquet(
            list(paths),
            schema={name: kind for name, kind in columns.items() if name not in self.partitions},
            hive_partitioning=bool(self.partitions),
            hive_schema={name: columns[name] for name in self.partitions if name in columns} or None,
            glob=False,
            missing_columns="insert",
            extra_columns="ignore",
        ).select(list(columns))


class Memory:
    """What has been read of files: small ones of each table, and slices of large ones."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._chunks: dict[str, list[tuple[frozenset[str], pl.DataFrame]]] = {}
        self._slices: OrderedDict[Hashable, pl.DataFrame] = OrderedDict()

    def rows(self, files: Files, query: Query) -> pl.LazyFrame:
        """The rows that a question is to be put to: all that it may be about."""
        parts = []
        if files.large:
            sliced = "window_kind" in COLUMNS[files.table]
            parts.append(self._slices_of(files, query) if sliced else files.scan(files.large))
        if files.small:
            small = self._small(files).lazy()
            parts.append(small.select(_needed(query)) if parts else small)
        if len(parts) == 2:
            parts[0] = parts[0].select(_needed(query))
        return pl.concat(parts) if parts else empty(files.table)

    def forget(self, table: str) -> None:
        """The table has been made anew."""
        with self._lock:
            self._chunks.pop(table, None)

    def _small(self, files: Files) -> pl.DataFrame:
        with self._lock:
            kept = [chunk for chunk in self._chunks.get(files.table, []) if chunk[0] <= files.small]
            missing = files.small.difference(*(paths for paths, _ in kept))
            if missing:
                kept.append((missing, files.scan(sorted(missing)).collect()))
            if len(kept) > _MOST_CHUNKS:
                kept = [(files.small, pl.concat([rows for _, rows in kept], rechunk=True))]
            self._chunks[files.table] = kept
            return pl.concat([rows for _, rows in kept])

    def _slices_of(self, files: Files, query: Query) -> pl.LazyFrame:
        """Of each large file, the windows of whole days that the question is about."""
        wide = tuple(map(_by_whole_days, query.where))
        return pl.concat([self._slice(files, path, wide).lazy() for path in files.large])

    def _slice(self, files: Files, path: str, where: tuple[Where, ...]) -> pl.DataFrame:
        with self._lock:
            rows = self._slices.pop((path, where), None)
        if rows is None:
            rows = files.scan([path]).filter(*map(condition, where)).collect()
        with self._lock:
            self._slices[path, where] = rows
            while sum(each.estimated_size() for each in self._slices.values()) > _MOST_SLICES:
                self._slices.popitem(last=False)
        return rows


def _by_whole_days(where: Where) -> Where:
    """A condition on time, widened so that it stays the same while the period of a page moves on."""
    if not isinstance(where.value, datetime):
        return where
    midnight = where.value.replace(hour=0, minute=0, second=0, microsecond=0)
    if where.op in (">=", ">"):
        return Where(where.column, ">=", midnight)
    return Where(where.column, "<=", midnight + _DAY) if where.op in ("<=", "<") else where


def _needed(query: Query) -> tuple[str, ...]:
    """The columns that a question takes, in the order of the contract."""
    named = {*query.columns, *(each.column for each in (*query.measures, *query.where))}
    named |= {name.removeprefix("-") for name in query.order}
    needed = [name for name in COLUMNS[query.table] if name in named]
    return tuple(needed or list(COLUMNS[query.table])[:1])
