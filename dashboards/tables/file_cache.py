"""The files of one version of a Delta table: large ones are scanned, small ones kept in memory.

A file never changes, so what has been read of it stays right whatever the table's next version is.
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import polars as pl
from schema import COLUMNS

from tables.polars_query import add_up, adds_up, ask_frame, condition, empty
from tables.query import Query, Where

_SMALL = 256 * 2**10  # bytes of a file that is kept: what a micro-batch has written, or some
_MOST_SMALL = 6 * 2**20  # bytes of them all, of one table
_MOST_CHUNKS = 8  # that small files are kept in
_MOST_KEPT = 64 * 2**20  # bytes of what is kept of large files, of all tables
_FRAME = 512  # bytes that a frame takes without rows
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

    @classmethod
    def elsewhere(cls, table: str) -> "Files":
        """Those of a table that polars is to follow the log of."""
        return cls(table, (), frozenset(), plain=False)

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
    """What has been read of files: small ones of each table; of large ones, slices, and what they sum to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._chunks: dict[str, list[tuple[frozenset[str], pl.DataFrame]]] = {}
        self._kept: OrderedDict[Hashable, pl.DataFrame] = OrderedDict()
        self._bytes = 0

    def answer(self, files: Files, query: Query) -> pl.DataFrame:
        """The answer to a question; if it adds up, what it comes to in a large file is worked out once."""
        if not files.large or _is_sliced(files) or not adds_up(query):
            return ask_frame(self.rows(files, query), query).collect()
        part = replace(query, order=(), limit=None)
        parts = [each.lazy() for each in self._parts(files, part)]
        if files.small:
            parts.append(ask_frame(self._small(files).lazy(), part))
        return add_up(pl.concat(parts), query).collect()

    def rows(self, files: Files, query: Query) -> pl.LazyFrame:
        """The rows that a question is to be put to: all that it may be about."""
        parts = []
        if files.large:
            parts.append(self._slices_of(files, query) if _is_sliced(files) else files.scan(files.large))
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
        rows = self._take(path, where)
        if rows is None:
            rows = files.scan([path]).filter(*map(condition, where)).collect()
            self._keep((path, where), rows)
        return rows

    def _parts(self, files: Files, query: Query) -> list[pl.DataFrame]:
        """What a question comes to in each large file."""
        kept = {path: self._take(path, query) for path in files.large}
        new = [path for path, rows in kept.items() if rows is None]
        for path, rows in zip(
            new, pl.collect_all([ask_frame(files.scan([path]), query) for path in new]), strict=True
        ):
            self._keep((path, query), rows)
            kept[path] = rows
        return [rows for rows in kept.values() if rows is not None]

    def _take(self, *key: Hashable) -> pl.DataFrame | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: Hashable, rows: pl.DataFrame) -> None:
        with self._lock:
            gone = self._kept.pop(key, None)
            self._kept[key] = rows
            self._bytes += _size(rows) - (0 if gone is None else _size(gone))
            while self._bytes > _MOST_KEPT:
                _, gone = self._kept.popitem(last=False)
                self._bytes -= _size(gone)


def _is_sliced(files: Files) -> bool:
    """Whether many questions are about the same few of a table's rows: those of windows are."""
    return "window_kind" in COLUMNS[files.table]


def _size(rows: pl.DataFrame) -> int:
    return _FRAME + int(rows.estimated_size())


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
