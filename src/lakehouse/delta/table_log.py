"""A table's log without Spark: its files, and which of them may contain some rows."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, Transaction

from lakehouse.delta.file_groups import FileGroups
from lakehouse.delta.log_files import commit_file
from lakehouse.delta.lookup import Lookup
from lakehouse.delta.merge import CUT_OFF
from lakehouse.rows.arrow_times import in_micros

_OF_EVERY_FILE = ("path", "size_bytes", "num_records", "modification_time")


@dataclass
class TableLog:
    """A cache of a table's log.

    Args:
        folder: of the table.
    """

    folder: Path
    table: DeltaTable = field(init=False)
    lock: threading.RLock = field(default_factory=threading.RLock)
    groups: FileGroups = field(default_factory=FileGroups)
    _files: tuple[int, list[dict[str, Any]]] | None = None

    def __post_init__(self) -> None:
        self.table = DeltaTable(self.folder)

    def follow(self) -> None:
        """Read new commits; the log's folder is listed only if there are any."""
        if commit_file(self.folder, self.table.version() + 1).exists():
            self.table.update_incremental()

    def is_done(self, options: Mapping[str, str | int]) -> bool:
        """Whether `txnVersion` of `txnAppId`, or a later one, is committed; False without these options."""
        if not options:
            return False
        wanted = transaction_of(options)
        found = self.table.transaction_version(wanted.app_id)
        return found is not None and found >= wanted.version

    def files(self) -> list[dict[str, Any]]:
        """The files of the latest version that `follow` has read."""
        version = self.table.version()
        if self._files is None or self._files[0] != version:
            self._files = version, files_of(self.table)
        return self._files[1]


def transaction_of(options: Mapping[str, str | int]) -> Transaction:
    """The transaction that options of a Spark writer name."""
    return Transaction(str(options["txnAppId"]), int(options["txnVersion"]))


def files_of(table: DeltaTable) -> list[dict[str, Any]]:
    """The files of a table: path, bytes, rows, time, partitions, statistics of times, days and integers."""
    files = pa.table(table.get_add_actions(flatten=True))
    names = [field.name for field in files.schema if _decides(field)]
    found: list[dict[str, Any]] = in_micros(files.select(names)).to_pylist()
    return found


def _decides(column: pa.Field) -> bool:
    """Whether a column of the log is needed."""
    if column.name.startswith(("min.", "max.")):
        types = pa.types
        return bool(
            types.is_timestamp(column.type) or types.is_integer(column.type) or types.is_date(column.type)
        )
    return column.name in _OF_EVERY_FILE or column.name.startswith("partition.")


def may_have(file: Mapping[str, Any], wanted: Lookup) -> bool:
    """Whether a file may contain wanted rows, by its statistics."""
    if wanted.near is not None:
        start, end = wanted.times
        low, high = file.get(f"min.{start}"), file.get(f"max.{end}")
        if low is not None and high is not None and not wanted.near.meets(low, high + CUT_OFF):
            return False
    if wanted.above is not None:
        name, number = wanted.above
        highest = file.get(f"max.{name}")
        if highest is not None and highest <= number:
            return False
    return wanted.flag is None or file.get(f"partition.{wanted.flag}") is not False
