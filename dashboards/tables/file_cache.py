"""Cache of data files of Delta tables: large files are scanned, small ones are kept in memory.

Data files are immutable, so what was read from a file is valid in later versions of the table too.
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

_SMALL = 256 * 2**10  # bytes: a cached file is at most this large; the output of one or a few micro-batches
_MOST_SMALL = 6 * 2**20  # bytes of all cached small files of one table
_MOST_CHUNKS = 8  # frames that hold the small files of a table
_MOST_KEPT = 64 * 2**20  # bytes cached from the large files of all tables
_FRAME = 512  # bytes of an empty frame
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Files:
    """The data files of one version of a table.

    Args:
        table: `layer.table`.
        large: paths of the files that are scanned.
        small: paths of the files that are cached.
        partitions: the partition columns, stored in the paths.
        plain: the files alone hold the rows (no deletion vectors, no column mapping). If false, polars reads
            the table through its Delta log.
    """

    table: str
    large: tuple[str, ...]
    small: frozenset[str]
    partitions: tuple[str, ...] = ()
    plain: bool = True

    @classmethod
    def of(cls, table: str, sizes: dict[str, int], partitions: Sequence[str] = ()) -> "Files":
        """Split files by size in bytes. Tables with binary columns are never cached."""
        small: set[str] = set()
        room = 0 if pl.Binary in COLUMNS.get(table, {}).values() else _MOST_SMALL
        for path, size in sorted(sizes.items(), key=lambda each: each[1]):
            room -= size
            if size > _SMALL or room < 0:
                break
            small.add(path)
        large = tuple(path for path in sizes if path not in small)
        return cls(table, large, frozenset(small), tuple(partitions))

    @classmethod
    def elsewhere(cls, table: str) -> "Files":
        """The files of a table that polars reads through its Delta log."""
        return cls(table, (), frozenset(), plain=False)

    def scan(self, paths: Sequence[str]) -> pl.LazyFrame:
        """Scan some of the files with the columns of the table's contract. Missing columns are null."""
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
    """Cached rows of small files, and slices and partial aggregates of large files."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._chunks: dict[str, list[tuple[frozenset[str], pl.DataFrame]]] = {}
        self._kept: OrderedDict[Hashable, pl.DataFrame] = OrderedDict()
        self._bytes = 0

    def answer(self, files: Files, query: Query) -> pl.DataFrame:
        """Run a query. If its aggregates can be combined, those of each large file are computed once."""
        if not files.large or _is_sliced(files) or not adds_up(query):
            return ask_frame(self.rows(files, query), query).collect()
        part = replace(query, order=(), limit=None)
        parts = [each.lazy() for each in self._parts(files, part)]
        if files.small:
            parts.append(ask_frame(self._small(files).lazy(), part))
        return add_up(pl.concat(parts), query).collect()

    def rows(self, files: Files, query: Query) -> pl.LazyFrame:
        """All rows that a query may need."""
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
        """Drop the cached files of a table that was created again."""
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
        """The rows of each large file on the whole days that the query covers."""
        wide = tuple(map(_by_whole_days, query.where))
        return pl.concat([self._slice(files, path, wide).lazy() for path in files.large])

    def _slice(self, files: Files, path: str, where: tuple[Where, ...]) -> pl.DataFrame:
        rows = self._take(path, where)
        if rows is None:
            rows = files.scan([path]).filter(*map(condition, where)).collect()
            self._keep((path, where), rows)
        return rows

    def _parts(self, files: Files, query: Query) -> list[pl.DataFrame]:
        """The partial result of a query in each large file."""
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
    """Whether many queries read the same few rows of the table. This is true of tables of windows."""
    return "window_kind" in COLUMNS[files.table]


def _size(rows: pl.DataFrame) -> int:
    return _FRAME + int(rows.estimated_size())


def _by_whole_days(where: Where) -> Where:
    """A condition on time, widened to whole days: it stays the same while the period of a page advances."""
    if not isinstance(where.value, datetime):
        return where
    midnight = where.value.replace(hour=0, minute=0, second=0, microsecond=0)
    if where.op in (">=", ">"):
        return Where(where.column, ">=", midnight)
    return Where(where.column, "<=", midnight + _DAY) if where.op in ("<=", "<") else where


def _needed(query: Query) -> tuple[str, ...]:
    """The columns that a query needs, in the order of the contract."""
    named = {*query.columns, *(each.column for each in (*query.measures, *query.where))}
    named |= {name.removeprefix("-") for name in query.order}
    needed = [name for name in COLUMNS[query.table] if name in named]
    return tuple(needed or list(COLUMNS[query.table])[:1])
