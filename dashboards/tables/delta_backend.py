"""Delta tables in a folder, read without a JVM."""

import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

import polars as pl
from deltalake.exceptions import DeltaError, TableNotFoundError
from polars.exceptions import PolarsError
from pyarrow import ArrowException
from schema import CORRECTIONS

from lakehouse.delta.log_files import commit_file, marks_after
from tables.backend import ReadError
from tables.corrections import Corrections
from tables.delta_log import Log, last_within, mark_of
from tables.file_cache import Files, Memory
from tables.polars_query import ask_frame, with_all_columns
from tables.query import Facts, Query, Version

_OPEN = 2  # versions of a table kept open: the latest, and the one that pages may still use
_AT_ONCE = 2  # queries that run concurrently: each uses all cores, and memory
_ERRORS = (DeltaError, PolarsError, OSError)


@dataclass
class _Opened:
    """An opened table.

    Args:
        log: the Delta log, read up to the latest known version.
        versions: files and metadata of the last versions.
        position: a high-water mark that the latest known version is within; None if none is known.
        beyond: a version that is not read yet, and its high-water mark.
    """

    log: Log
    versions: OrderedDict[Version, tuple[Files, Facts]] = field(default_factory=OrderedDict)
    position: int | None = None
    beyond: tuple[int, int] | None = None

    def last_within(self, version: int, position: int | None, folder: Path) -> int:
        """The last version within a high-water mark, up to the latest known one."""
        if position is None or (self.position is not None and self.position <= position):
            return version
        last = last_within(folder, version, position)
        if last == version:
            self.position = position
        return last

    def is_beyond(self, version: int, position: int | None, folder: Path) -> bool:
        """Whether a commit is beyond a high-water mark; its own is read once."""
        if position is None:
            return False
        if self.beyond is None or self.beyond[0] != version:
            self.beyond = version, mark_of(folder, version) or 0
        return self.beyond[1] > position


class LocalTables:
    """The Delta tables in one folder, at `<layer>/<table>`.

    Args:
        root: the folder. It may not exist yet.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._opened: dict[str, _Opened] = {}
        self._memory = Memory()
        self._turn = threading.BoundedSemaphore(_AT_ONCE)
        self._corrections = Corrections(self._path("gold.traffic"))

    def version(self, table: str, position: int | None = None) -> Version | None:
        """The latest version up to a position. Costs two file-system calls if nothing has changed."""
        if table == CORRECTIONS:
            traffic = self.version("gold.traffic", position)
            return None if traffic is None else self._corrections_at(traffic)
        with self._lock:
            try:
                return self._latest(table, position)
            except _ERRORS as error:
                raise ReadError(table) from error

    def position(self, table: str, version: Version) -> int | None:
        """The ingest stamp that a version is done up to."""
        for number in range(version.number, -1, -1):
            mark = mark_of(self._path(table), number)
            if mark is not None or not commit_file(self._path(table), number).exists():
                return mark
        return None

    def marks(self, table: str, position: int) -> list[tuple[int, int]]:
        """High-water marks of commits, and when they were written."""
        try:
            return marks_after(self._path(table), position)
        except (OSError, ValueError) as error:
            raise ReadError(table) from error

    def run(self, query: Query, version: Version) -> pl.DataFrame:
        """Run a query. Only the columns and row groups that it needs are read."""
        if query.table == CORRECTIONS:
            return ask_frame(self._corrections.rows(version).lazy(), query).collect()
        try:
            with self._turn:
                files, _ = self._at(query.table, version)
                if files.plain:
                    return self._memory.answer(files, query)
                rows = pl.scan_delta(str(self._path(query.table)), version=version.number)
                return ask_frame(with_all_columns(rows, query.table), query).collect()
        except _ERRORS as error:
            raise ReadError(query.table) from error

    def facts(self, table: str, version: Version) -> Facts:
        """Rows, files and bytes, from the statistics in the Delta log."""
        try:
            return self._at(table, version)[1]
        except _ERRORS as error:
            raise ReadError(table) from error

    def _corrections_at(self, traffic: Version) -> Version:
        try:
            return self._corrections.version(traffic)
        except (*_ERRORS, ArrowException) as error:
            raise ReadError(CORRECTIONS) from error

    def _latest(self, table: str, position: int | None) -> Version | None:
        path, opened = self._path(table), self._opened.get(table)
        last = next(reversed(opened.versions)) if opened else None
        same = last is not None and _stamp(path, last.number) == last.stamp
        if opened and last and same:
            number = opened.last_within(last.number, position, path)
            if number < last.number:  # another snapshot opened a later one
                return Version(number, _stamp(path, number))
            following = last.number + 1
            if not commit_file(path, following).exists() or opened.is_beyond(following, position, path):
                return last
        if not same:
            self._opened.pop(table, None)
            self._memory.forget(table)
        if not (same and opened and opened.log.catch_up(position)):
            try:
                log = Log(path, position=position)
            except TableNotFoundError:
                return None
            opened = self._opened.setdefault(table, _Opened(log))
            opened.log = log
        opened.position = position
        version = Version(opened.log.version, _stamp(path, opened.log.version))
        opened.versions[version] = self._what_is_in(table, opened.log)
        while len(opened.versions) > _OPEN:
            opened.versions.popitem(last=False)
        return version

    def _at(self, table: str, version: Version) -> tuple[Files, Facts]:
        with self._lock:
            opened = self._opened.get(table)
            if opened and version in opened.versions:
                return opened.versions[version]
        return self._what_is_in(table, Log(self._path(table), version=version.number))

    def _what_is_in(self, table: str, log: Log) -> tuple[Files, Facts]:
        sizes = {path: file.size for path, file in log.files.items()}
        counts = [file.rows for file in log.files.values()]
        rows = None if None in counts else sum(count or 0 for count in counts)
        written = _written(self._path(table), log.version)
        files = (
            Files.of(table, sizes, log.partitions)
            if log.plain
            else Files(table, (), frozenset(), plain=False)
        )
        return files, Facts(rows, len(sizes), sum(sizes.values()), written)

    def _path(self, table: str) -> Path:
        return self._root.joinpath(*table.split("."))


def _stamp(path: Path, version: int) -> str:
    with suppress(FileNotFoundError):
        return str(commit_file(path, version).stat().st_mtime_ns)
    return ""


def _written(path: Path, version: int) -> datetime | None:
    with suppress(FileNotFoundError):
        return datetime.fromtimestamp(commit_file(path, version).stat().st_mtime, timezone.utc)
    return None
