"""Delta tables in a folder, read without a JVM."""

import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

import polars as pl
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError
from polars.exceptions import PolarsError

from reading.backend import ReadError
from reading.files import Files, Memory
from reading.frames import ask_frame
from reading.query import Facts, Query, Version

_OPEN = 2  # versions of a table held open: the latest, and the one that pages may still be at
_AT_ONCE = 2  # questions answered at the same time: each takes all cores, and memory
_PLAIN = 1  # version of Delta's protocol for readers: no deletion vectors, no names of columns but their own
_ERRORS = (DeltaError, PolarsError, OSError)


@dataclass
class _Opened:
    """A table that has been opened.

    Args:
        handle: at the latest version looked at.
        versions: files of the last few.
        sizes: of these, in bytes.
        facts: of the latest version that has been asked for them.
    """

    handle: DeltaTable
    versions: OrderedDict[Version, Files] = field(default_factory=OrderedDict)
    sizes: dict[str, int] = field(default_factory=dict)
    facts: dict[Version, Facts] = field(default_factory=dict)


class LocalTables:
    """The tables under one folder, `<layer>/<table>`.

    Args:
        root: the folder; it need not exist yet.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._opened: dict[str, _Opened] = {}
        self._memory = Memory()
        self._turn = threading.BoundedSemaphore(_AT_ONCE)

    def version(self, table: str) -> Version | None:
        """The latest version; two looks at the file system if nothing has changed."""
        with self._lock:
            try:
                return self._latest(table)
            except _ERRORS as error:
                raise ReadError(table) from error

    def run(self, query: Query, version: Version) -> pl.DataFrame:
        """The answer: only the columns and row groups that it takes are read."""
        try:
            with self._turn:
                return ask_frame(self.rows(query, version), query).collect()
        except _ERRORS as error:
            raise ReadError(query.table) from error

    def rows(self, query: Query, version: Version) -> pl.LazyFrame:
        """The rows of a version that a question is to be put to."""
        files = self._files(query.table, version)
        if not files.plain:
            return pl.scan_delta(self._path(query.table), version=version.number)
        return self._memory.rows(files, query)

    def facts(self, table: str, version: Version) -> Facts:
        """Rows, files and bytes by the statistics of the log."""
        with self._lock:
            opened = self._opened.get(table)
            try:
                if opened and version in opened.facts:
                    return opened.facts[version]
                if not opened or opened.handle.version() != version.number:
                    return self._facts(table, DeltaTable(self._path(table), version=version.number))
                opened.facts = {version: self._facts(table, opened.handle)}
                return opened.facts[version]
            except _ERRORS as error:
                raise ReadError(table) from error

    def _latest(self, table: str) -> Version | None:
        opened = self._opened.get(table)
        last = next(reversed(opened.versions)) if opened else None
        same = last is not None and self._stamp(table, last.number) == last.stamp
        if last and same and not self._commit(table, last.number + 1):
            return last
        try:
            handle = self._caught_up(opened.handle if opened and same else None, table)
        except TableNotFoundError:
            self._opened.pop(table, None)
            return None
        version = Version(handle.version(), self._stamp(table, handle.version()))
        if opened is None or not same:
            opened = self._opened[table] = _Opened(handle)
        opened.handle = handle
        opened.versions[version] = _files_of(table, handle, opened.sizes)
        while len(opened.versions) > _OPEN:
            opened.versions.popitem(last=False)
        return version

    def _caught_up(self, handle: DeltaTable | None, table: str) -> DeltaTable:
        """The table at its latest version; one that is open reads only what has been committed since."""
        if handle is not None:
            with suppress(*_ERRORS):
                handle.update_incremental()
                return handle
        self._memory.forget(table)
        return DeltaTable(self._path(table))

    def _files(self, table: str, version: Version) -> Files:
        with self._lock:
            opened = self._opened.get(table)
            if opened and version in opened.versions:
                return opened.versions[version]
        return _files_of(table, DeltaTable(self._path(table), version=version.number), {})

    def _facts(self, table: str, handle: DeltaTable) -> Facts:
        adds = pl.DataFrame(handle.get_add_actions())
        counted = "num_records" in adds.columns and not adds["num_records"].has_nulls()
        rows = int(adds["num_records"].sum()) if counted else None
        return Facts(rows, adds.height, int(adds["size_bytes"].sum()), self._written(table, handle.version()))

    def _commit(self, table: str, number: int) -> Path | None:
        file = self._path(table) / "_delta_log" / f"{number:020}.json"
        return file if file.exists() else None

    def _stamp(self, table: str, number: int) -> str:
        commit = self._commit(table, number)
        return str(commit.stat().st_mtime_ns) if commit else ""

    def _written(self, table: str, number: int) -> datetime | None:
        commit = self._commit(table, number)
        return datetime.fromtimestamp(commit.stat().st_mtime, timezone.utc) if commit else None

    def _path(self, table: str) -> Path:
        return self._root.joinpath(*table.split("."))


def _files_of(table: str, handle: DeltaTable, known: dict[str, int]) -> Files:
    """The files of a version; what is known of their sizes is brought up to date."""
    if handle.protocol().min_reader_version > _PLAIN:
        return Files(table, (), frozenset(), plain=False)
    paths = handle.file_uris()
    sizes = {path: known[path] if path in known else Path(path).stat().st_size for path in paths}
    known.clear()
    known.update(sizes)
    return Files.of(table, sizes, handle.metadata().partition_columns)
