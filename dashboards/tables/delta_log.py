"""The files of a Delta table, updated commit by commit without opening the table again."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl
from deltalake import DeltaTable

from lakehouse.contracts import TABLES
from lakehouse.delta.log_files import commit_file, last_version_within, read_metadata, written_at
from tables.backend import high_water_mark

_PLAIN = 1  # Delta reader protocol version: no deletion vectors, no column mapping
_FAR = 200  # commits: beyond this, opening the table from its checkpoint is faster
_SIMPLE = frozenset({"add", "remove", "commitInfo", "txn"})  # actions that change nothing but files


@dataclass(frozen=True)
class File:
    """A data file in the log: size in bytes, and the row count if the log has one."""

    size: int
    rows: int | None


class Log:
    """The Delta log of a table, read up to a version.

    Args:
        folder: the table's folder.
        version: the version to read; the latest by default.
        position: only commits up to this high-water mark; None for all.

    Raises:
        TableNotFoundError: if the table does not exist.
        DeltaError: if the log can't be read.
    """

    def __init__(self, folder: Path, version: int | None = None, position: int | None = None) -> None:
        table = DeltaTable(folder, version=version)
        last = table.version() if position is None else last_within(folder, table.version(), position)
        if last < table.version():
            table = DeltaTable(folder, version=last)
        self._folder = folder
        self.version = table.version()
        self.partitions = tuple(table.metadata().partition_columns)
        self.plain = table.protocol().min_reader_version <= _PLAIN
        self.files = {str(folder / path): file for path, file in _files(table).items()}

    def catch_up(self, position: int | None = None) -> bool:
        """Read the commits since the last known version, up to a high-water mark.

        Returns:
            False if the table has to be opened again: a commit did more than add and remove files, or there
            are too many commits.
        """
        if commit_file(self._folder, self.version + _FAR).exists():
            return False
        while self.plain and (commit := commit_file(self._folder, self.version + 1)).exists():
            if not _is_within(self._folder, self.version + 1, position):
                break
            try:
                self._apply([json.loads(line) for line in commit.read_text().splitlines()])
            except (OSError, ValueError, KeyError):
                return False
            self.version += 1
        return self.plain

    def _apply(self, actions: list[dict[str, Any]]) -> None:
        if not all(action.keys() <= _SIMPLE for action in actions):
            raise ValueError("the table itself has changed")
        files = dict(self.files)
        for removed in (action["remove"] for action in actions if "remove" in action):
            del files[self._path(removed)]
        for added in (action["add"] for action in actions if "add" in action):
            if added.get("deletionVector"):
                raise ValueError("rows of a file are left out")
            files[self._path(added)] = File(
                added["size"], json.loads(added.get("stats") or "{}").get("numRecords")
            )
        self.files = files

    def _path(self, action: Mapping[str, Any]) -> str:
        return str(self._folder / unquote(action["path"]))


def last_within(folder: Path, latest: int, position: int) -> int:
    """The last version before the first commit beyond a high-water mark, see `last_version_within`."""
    first_writer = TABLES[f"{folder.parent.name}.{folder.name}"].writer
    metadata, written = partial(read_metadata, folder), partial(written_at, folder)
    return last_version_within(latest, position, first_writer, metadata, written)


def mark_of(folder: Path, version: int) -> int | None:
    """The high-water mark of a commit; None if it has none, or can't be read."""
    with suppress(OSError, ValueError), commit_file(folder, version).open(encoding="utf-8") as lines:
        info = next((json.loads(line) for line in lines if line.startswith('{"commitInfo"')), {})
        return high_water_mark(info.get("commitInfo", {}).get("userMetadata"))
    return None


def _is_within(folder: Path, version: int, position: int | None) -> bool:
    return position is None or (mark_of(folder, version) or 0) <= position


def _files(table: DeltaTable) -> dict[str, File]:
    adds = pl.DataFrame(table.get_add_actions())
    rows = adds["num_records"] if "num_records" in adds.columns else [None] * adds.height
    return {
        path: File(size, count)
        for path, size, count in zip(adds["path"], adds["size_bytes"], rows, strict=True)
    }
