"""Reading the Delta tables without a JVM, and not twice while they stay the same."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
from columns import COLUMNS
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError
from polars.exceptions import PolarsError

Answer = TypeVar("Answer")
Version = tuple[int, int] | None  # number and commit's modification time in ns; None: no such table

_KEPT_ANSWERS = 128
_READ_ERRORS = (DeltaError, PolarsError, OSError)


@dataclass
class _Handle:
    """An open table, and the version it was seen at."""

    table: DeltaTable
    version: Version


class Warehouse:
    """The tables under one folder, `<layer>/<table>`, for any number of viewers.

    Args:
        root: the folder; it need not exist yet.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._handles: dict[str, _Handle] = {}
        self._answers: OrderedDict[Hashable, tuple[tuple[Version, ...], Any]] = OrderedDict()
        self._unreadable: set[str] = set()

    def answer(self, question: Callable[..., Answer], tables: Sequence[str], *arguments: Hashable) -> Answer:
        """Ask tables a question; while none of them has changed, the last answer stands.

        Args:
            question: called with one lazy frame a table, then the arguments. Must depend on nothing else.
            tables: `layer.table` each. A table that is not there is an empty frame.
            arguments: part of what the answer is remembered by.

        Returns:
            The answer; the one before, if a table can't be read right now; else that of empty tables.
        """
        key = (question, tuple(tables), arguments)
        with self._lock:
            kept = self._answers.get(key)
            try:
                versions = tuple(self._refresh(name) for name in tables)
                if kept is None or kept[0] != versions:
                    kept = (versions, question(*map(self._scan, tables), *arguments))
                self._unreadable.difference_update(tables)
            except _READ_ERRORS:
                self._unreadable.update(tables)
                return kept[1] if kept else question(*map(empty, tables), *arguments)
            self._keep(key, kept)
            return kept[1]

    def rows(self, name: str) -> int:
        """Rows of a table by the statistics of its log, so that nothing of it is read."""
        with self._lock:
            try:
                count = 0 if self._refresh(name) is None else self._handles[name].table.count()
                self._unreadable.discard(name)
            except _READ_ERRORS:
                self._unreadable.add(name)
                return 0
            return count

    @property
    def unreadable(self) -> list[str]:
        """Tables that could not be read when last asked for."""
        return sorted(self._unreadable)

    def _refresh(self, name: str) -> Version:
        """Bring a table's handle up to date."""
        handle = self._handles.get(name)
        if handle is not None and self._stamp(name, handle.table.version()) == handle.version:
            handle.table.update_incremental()
        else:  # not opened yet, or the table was made anew since: its versions start over
            self._handles.pop(name, None)
            try:
                handle = _Handle(DeltaTable(self._path(name)), None)
            except TableNotFoundError:
                return None
            self._handles[name] = handle
        handle.version = self._stamp(name, handle.table.version())
        return handle.version

    def _stamp(self, name: str, number: int) -> Version:
        commit = self._path(name) / "_delta_log" / f"{number:020}.json"
        return (number, commit.stat().st_mtime_ns if commit.exists() else 0)

    def _scan(self, name: str) -> pl.LazyFrame:
        handle = self._handles.get(name)
        return empty(name) if handle is None else pl.scan_delta(handle.table).select(*COLUMNS[name])

    def _path(self, name: str) -> Path:
        return self._root.joinpath(*name.split("."))

    def _keep(self, key: Hashable, kept: tuple[tuple[Version, ...], Any]) -> None:
        self._answers[key] = kept
        self._answers.move_to_end(key)
        while len(self._answers) > _KEPT_ANSWERS:
            self._answers.popitem(last=False)


def empty(name: str) -> pl.LazyFrame:
    """A table without rows, with the columns of its contract."""
    return pl.LazyFrame(schema=COLUMNS[name])
