"""Corrections: changes of windows that were complete, from the change feed of gold.traffic."""

import json
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from schema import CHANGING, COLUMNS, CORRECTIONS

from lakehouse.contracts.traffic import TRAFFIC
from lakehouse.errors import MillraceError
from tables.delta_log import commit_file
from tables.query import Version

_AT_ONCE = 10  # commits that one look reads at least; the next one reads further back
_SECONDS = 1.0  # that a look goes on reading for
_MOST_ROWS = 200_000
_MOST_BYTES = 16 * 2**20  # of the files of a commit, before and after it

_NEEDED = {*TRAFFIC.key, *CHANGING, "is_complete"}
_COMPARED = replace(TRAFFIC, columns=tuple(each for each in TRAFFIC.columns if each.name in _NEEDED))


class Corrections:
    """Corrections by commit. A commit never changes, so each is read once and its rows are kept.

    The latest commits are read first, those before them with each further look, as far back as the log and
    the replaced files are there. Each commit has a row of its own, in which all but the commit is null.

    Args:
        folder: of gold.traffic.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._begin(Version(-1))

    def version(self, traffic: Version) -> Version:
        """Read what is not known of the changes up to a version of gold.traffic.

        Returns:
            The version, with a stamp that also says from which commit on changes are known.
        """
        with self._lock:
            until = time.monotonic() + _SECONDS
            read = 0 if self._has_read(traffic) else self._follow(traffic)
            while not self._has_all and (read < _AT_ONCE or time.monotonic() < until):
                self._read_back()
                read += 1
            return Version(traffic.number, f"{traffic.stamp} {self._first}")

    def rows(self, version: Version) -> pl.DataFrame:
        """The changes that are known at what `version` returned."""
        first = int(version.stamp.split()[-1])
        with self._lock:
            return self._rows.filter(pl.col("commit_version").is_between(first, version.number))

    def _begin(self, traffic: Version) -> None:
        self._last, self._first, self._has_all = traffic, traffic.number + 1, False
        self._rows = pl.DataFrame(schema=COLUMNS[CORRECTIONS])

    def _has_read(self, traffic: Version) -> bool:
        return self._is_same_table() and traffic.number <= self._last.number

    def _is_same_table(self) -> bool:
        with suppress(FileNotFoundError):
            return str(commit_file(self._folder, self._last.number).stat().st_mtime_ns) == self._last.stamp
        return False

    def _follow(self, traffic: Version) -> int:
        """Read the commits since the last look, or begin again; return how many were read."""
        new = range(self._last.number + 1, traffic.number + 1)
        if not self._is_same_table() or len(new) > _AT_ONCE:
            self._begin(traffic)
            return 0
        parts = [_read(self._folder, number) for number in new]
        found = [part for part in parts if part is not None]
        if len(found) < len(parts):
            self._begin(traffic)
            return 0
        self._last = traffic
        self._keep([self._rows, *found])
        return len(found)

    def _read_back(self) -> None:
        """Read the commit before those that are known, if it can be read."""
        part = _read(self._folder, self._first - 1) if self._first else None
        if part is None:
            self._has_all = True
        else:
            self._first -= 1
            self._keep([part, self._rows])

    def _keep(self, parts: list[pl.DataFrame]) -> None:
        """Keep rows, without the oldest commits if there are too many."""
        self._rows = pl.concat(parts)
        if self._rows.height > _MOST_ROWS:
            oldest = self._rows["commit_version"][-_MOST_ROWS - 1]
            self._rows = self._rows.filter(pl.col("commit_version") > oldest)
            self._first, self._has_all = oldest + 1, True


def _read(folder: Path, version: int) -> pl.DataFrame | None:
    """A commit and its corrections; None if it is gone from the log, or too large to be read by a page."""
    from lakehouse.delta.changes import read_changes  # DuckDB: an app on a workspace has none

    try:
        lines = commit_file(folder, version).read_text(encoding="utf-8").splitlines()
        actions = [json.loads(line) for line in lines]
        if sum(_size(action) for action in actions) > _MOST_BYTES:
            return None
        changes = read_changes(folder, _COMPARED, version - 1, version)
    except (MillraceError, FileNotFoundError):
        return None
    written = max(action.get("commitInfo", {}).get("timestamp", 0) for action in actions)
    commit = pl.DataFrame({"commit_version": [version], "commit_timestamp": [1_000 * written]})
    found = pl.concat([commit, _corrections(changes)], how="diagonal")
    return found.select(pl.col(name).cast(kind) for name, kind in COLUMNS[CORRECTIONS].items())


def _size(action: Mapping[str, Any]) -> int:
    """Bytes of a file that is added or removed."""
    return int((action.get("add") or action.get("remove") or {}).get("size") or 0)


def _corrections(changes: pa.Table) -> pl.DataFrame:
    """Changes of rows that were complete, as columns."""
    was_complete = pc.struct_field(changes["before"], "is_complete")
    rows = pl.DataFrame(pl.from_arrow(changes.filter(pc.fill_null(was_complete, fill_value=False))))
    before, after = pl.col("before").struct, pl.col("after").struct
    return rows.select(
        "commit_version",
        *(pl.coalesce(after.field(name), before.field(name)).alias(name) for name in TRAFFIC.key),
        *(after.field(name).alias(name) for name in CHANGING),
        *(before.field(name).alias(f"{name}_before") for name in CHANGING),
    )
