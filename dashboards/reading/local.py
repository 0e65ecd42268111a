"""Delta tables in a folder, read without a JVM."""

import threading
from collections import OrderedDict
from datetime import datetime, timezone
from pathlib import Path

import polars as pl
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError
from polars.exceptions import PolarsError

from reading.backend import ReadError
from reading.frames import ask_frame
from reading.query import Facts, Query, Version

_OPEN = 2  # versions of a table held open: the latest, and the one that pages may still be at
_ERRORS = (DeltaError, PolarsError, OSError)


class LocalTables:
    """The tables under one folder, `<layer>/<table>`.

    Args:
        root: the folder; it need not exist yet.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._opened: dict[str, OrderedDict[Version, DeltaTable]] = {}

    def version(self, table: str) -> Version | None:
        """The latest version; two looks at the file system if nothing has changed."""
        with self._lock:
            try:
                return self._latest(table)
            except _ERRORS as error:
                raise ReadError(table) from error

    def run(self, query: Query, version: Version) -> pl.DataFrame:
        """The answer: only the columns, row groups and files that it takes are read."""
        try:
            return ask_frame(pl.scan_delta(self._at(query.table, version)), query).collect()
        except _ERRORS as error:
            raise ReadError(query.table) from error

    def facts(self, table: str, version: Version) -> Facts:
        """Rows, files and bytes by the statistics of the log."""
        try:
            files = pl.DataFrame(self._at(table, version).get_add_actions(flatten=True))
        except _ERRORS as error:
            raise ReadError(table) from error
        told = "num_records" in files.columns and not files["num_records"].has_nulls()
        rows = int(files["num_records"].sum()) if told else None
        return Facts(rows, files.height, int(files["size_bytes"].sum()), self._written(table, version))

    def _latest(self, table: str) -> Version | None:
        opened = self._opened.setdefault(table, OrderedDict())
        last = next(reversed(opened), None)
        if (
            last
            and self._stamp(table, last.number) == last.stamp
            and not self._commit(table, last.number + 1)
        ):
            return last
        try:
            handle = DeltaTable(self._path(table))
        except TableNotFoundError:
            opened.clear()
            return None
        number = handle.version()
        version = Version(number, self._stamp(table, number))
        opened[version] = handle
        while len(opened) > _OPEN:
            opened.popitem(last=False)
        return version

    def _at(self, table: str, version: Version) -> DeltaTable:
        with self._lock:
            handle = self._opened.get(table, {}).get(version)
        return handle or DeltaTable(self._path(table), version=version.number)

    def _commit(self, table: str, number: int) -> Path | None:
        file = self._path(table) / "_delta_log" / f"{number:020}.json"
        return file if file.exists() else None

    def _stamp(self, table: str, number: int) -> str:
        commit = self._commit(table, number)
        return str(commit.stat().st_mtime_ns) if commit else ""

    def _written(self, table: str, version: Version) -> datetime | None:
        commit = self._commit(table, version.number)
        return datetime.fromtimestamp(commit.stat().st_mtime, timezone.utc) if commit else None

    def _path(self, table: str) -> Path:
        return self._root.joinpath(*table.split("."))
