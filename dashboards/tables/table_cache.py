"""Query results shared by all viewers. A page sees one version of each table, and reads it once."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar

import polars as pl
from schema import COLUMNS

from lakehouse.access.masks import Mask
from tables.backend import Backend, ReadError
from tables.polars_query import ask_frame, empty
from tables.query import Facts, Query, Version

Figure = TypeVar("Figure")
Ask = Callable[[Query], pl.DataFrame]
Versions = dict[str, Version | None]

_PINNED = ("silver.", "gold.")
_LAST = "gold.traffic"

_MOST_BYTES = 96 * 2**20  # bytes of all cached results
_SMALL = 512  # bytes assumed for a result that is not a frame
_SHARED = 64 * 2**10  # bytes: query results up to this size are cached for other figures with the same query


class Lake:
    """The tables of one backend, with a cache of results.

    Args:
        backend: runs the queries.
        most_bytes: size of the cache. The least recently used results are evicted first.
        hidden: tables that are not there for the viewers' role.
        role: name of the role; None for viewers who see everything.
        masks: by table and column, the masks of the role.
    """

    def __init__(
        self,
        backend: Backend,
        most_bytes: int = _MOST_BYTES,
        hidden: frozenset[str] = frozenset(),
        role: str | None = None,
        masks: Mapping[str, Mapping[str, Mask]] = MappingProxyType({}),
    ) -> None:
        self.backend = backend
        self.hidden = hidden
        self.role = role
        self.masks = masks
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._turns: dict[Hashable, threading.Lock] = {}
        self._kept: OrderedDict[Hashable, tuple[Versions, Any, int]] = OrderedDict()
        self._bytes = 0

    def look(self) -> "Look":
        """A new snapshot."""
        return Look(self)

    def kept(self, key: Hashable) -> tuple[Versions, Any, int] | None:
        """A cached result, the table versions it was computed from, and its size."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def keep(self, key: Hashable, versions: Versions, answer: Any) -> None:
        """Cache a result, and evict others if the cache is full."""
        size = _size(answer)
        with self._lock:
            self._bytes += size - self._kept.pop(key, ({}, None, 0))[2]
            self._kept[key] = (versions, answer, size)
            while self._bytes > self._most_bytes and self._kept:
                gone, (_, _, freed) = self._kept.popitem(last=False)
                self._turns.pop(gone, None)
                self._bytes -= freed

    def forget(self) -> None:
        """Clear the cache."""
        with self._lock:
            self._kept.clear()
            self._bytes = 0

    def turn(self, key: Hashable) -> threading.Lock:
        """A lock for computing one result, so that concurrent viewers compute it once."""
        with self._lock:
            return self._turns.setdefault(key, threading.Lock())


class Look:
    """A snapshot for one page: each table is pinned at the version of its first use.

    Tables of silver and gold are pinned at the position of gold.traffic, which publish writes last: figures
    of all pages are as of one position, though tables are written at different times.
    """

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._versions: Versions = {}
        self.unreadable: set[str] = set()
        self.not_shown: set[str] = set()
        self.read: dict[str, Version] = {}
        """By table, the version that figures were computed from."""

    @property
    def role(self) -> str | None:
        """Name of the viewer's role; None if they see everything."""
        return self._lake.role

    def shows(self, table: str) -> bool:
        """Whether a table is there for the viewer's role."""
        return table not in self._lake.hidden

    def unseen(self, table: str) -> frozenset[str]:
        """The columns of a table that the viewer's role sees masked or not at all."""
        if not self.shows(table):
            return frozenset(COLUMNS[table])
        return frozenset(self._lake.masks.get(table, {}))

    def sees(self, *needed: str) -> bool:
        """Whether the viewer's role sees what a figure needs, as it is or as a hash.

        Tables that are not there are named at the foot of the page, as those without figures.

        Args:
            needed: tables, as `layer.table`, and columns, as `layer.table.column`.
        """
        places = list(map(_place, needed))
        hidden = {table for table, _ in places if not self.shows(table)}
        self.not_shown |= hidden
        masks = (self._lake.masks.get(table, {}).get(column) for table, column in places)
        return not hidden and all(mask in (None, Mask.HASH) for mask in masks)

    @cached_property
    def position(self) -> int | None:
        """The position of the figures, an ingest stamp in microseconds; None before the first window."""
        version = self._versions[_LAST] = self._lake.backend.version(_LAST)
        return None if version is None else self._lake.backend.position(_LAST, version)

    def version(self, table: str) -> Version | None:
        """The pinned version of a table; None if the table does not exist."""
        if not self.shows(table):
            self.not_shown.add(table)
        if table not in self._versions:
            position = self.position if table.startswith(_PINNED) else None
            if table not in self._versions:
                self._versions[table] = self._lake.backend.version(table, position)
        return self._versions[table]

    def figure(self, work_out: Callable[..., Figure], *arguments: Hashable) -> Figure:
        """The result of a function over the tables. Computed again only if a table it reads has changed.

        Args:
            work_out: called with a function that runs queries, then the arguments. Must depend on nothing
                else. Its result must not be modified.
            arguments: further arguments, hashable: part of the cache key.

        Returns:
            The result. If a table can't be read: the last cached result, else the result for empty tables.
        """
        key = (work_out, arguments)
        with self._lake.turn(key):
            kept = self._lake.kept(key)
            try:
                if kept and all(self.version(table) == version for table, version in kept[0].items()):
                    self._note(kept[0])
                    return kept[1]
                asked: Versions = {}
                answer = work_out(lambda query: self._ask(query, asked), *arguments)
            except ReadError as error:
                self.unreadable.add(str(error))
                self._note(kept[0] if kept else {})
                return kept[1] if kept else work_out(_of_nothing, *arguments)
            self._lake.keep(key, asked, answer)
            self._note(asked)
            return answer

    def facts(self, table: str) -> Facts | None:
        """Size and age of a table; None if it does not exist or can't be read at the moment."""
        try:
            version = self.version(table)
            return None if version is None else self._lake.backend.facts(table, version)
        except ReadError as error:
            self.unreadable.add(str(error))
            return None

    def marks(self, table: str, position: int) -> list[tuple[int, int]]:
        """High-water mark and time of commits from a position on; none if they can't be read."""
        key, versions = (table, position), {table: self.version(table)}
        kept = self._lake.kept(key)
        if kept and kept[0] == versions:
            known: list[tuple[int, int]] = kept[1]
            return known
        try:
            marks = self._lake.backend.marks(table, position)
        except ReadError as error:
            self.unreadable.add(str(error))
            return []
        self._lake.keep(key, versions, marks)
        return marks

    def _note(self, versions: Versions) -> None:
        for table, version in versions.items():
            if version is not None and self.shows(table):
                self.read[table] = version

    def _ask(self, query: Query, asked: Versions) -> pl.DataFrame:
        version = asked[query.table] = self.version(query.table)
        if version is None:
            return _of_nothing(query)
        kept = self._lake.kept(query)
        if kept and kept[0] == {query.table: version}:
            answer: pl.DataFrame = kept[1]
            return answer
        answer = self._lake.backend.run(query, version)
        if answer.estimated_size() <= _SHARED:
            self._lake.keep(query, {query.table: version}, answer)
        return answer


def _place(name: str) -> tuple[str, str]:
    """Table and column of `layer.table.column`; of `layer.table`, an empty column."""
    layer, table, *column = name.split(".")
    return f"{layer}.{table}", "".join(column)


def _of_nothing(query: Query) -> pl.DataFrame:
    return ask_frame(empty(query.table), query).collect()


def _size(answer: Any) -> int:
    if isinstance(answer, pl.DataFrame):
        return _SMALL + int(answer.estimated_size())
    if is_dataclass(answer):
        return _SMALL + sum(_size(getattr(answer, each.name)) for each in fields(answer))
    parts: Iterable[Any] = answer.values() if isinstance(answer, dict) else answer
    return _SMALL + sum(map(_size, parts)) if isinstance(answer, (dict, list, tuple)) else _SMALL
