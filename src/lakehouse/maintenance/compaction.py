"""Compaction, VACUUM and expiry of Delta tables.

Compaction and VACUUM do not change rows, so streaming readers see no new data.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Protocol

from lakehouse.contracts import TABLES
from lakehouse.contracts.ops import WITHOUT_SPARK
from lakehouse.contracts.table import LOG_ENTRIES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.table_properties import (
    REMOVED_FILES,
    STATISTICS,
    retention_properties,
    statistics_columns,
)
from lakehouse.maintenance.file_sizes import Compacted, max_file_bytes
from lakehouse.maintenance.retention import in_hours
from lakehouse.maintenance.spark_table import SparkTable

_FILE_SIZE = "delta.targetFileSize"
_DELTA_DEFAULTS = {REMOVED_FILES: timedelta(days=7), LOG_ENTRIES: timedelta(days=30)}


class MaintainedTable(Protocol):
    """A table, as maintenance changes it."""

    @property
    def properties(self) -> Mapping[str, str]:
        """Delta properties."""

    def set_properties(self, properties: Mapping[str, str]) -> None:
        """Set Delta properties, in one commit."""

    def compact(self) -> Compacted:
        """Compact small files."""

    def delete(self, condition: str) -> None:
        """Delete rows in one commit, if there are any."""

    def vacuum(self) -> None:
        """Remove files that no version within the table's retention refers to."""


def maintained_table(lake: Lakehouse, name: str) -> MaintainedTable:
    """An existing table, by delta-spark; a table of `WITHOUT_SPARK` in a folder, by deltalake."""
    if lake.settings.catalog or name not in WITHOUT_SPARK:
        return SparkTable(lake, name)
    from lakehouse.maintenance.python_table import PythonTable  # a workspace has no deltalake

    return PythonTable(lake.settings.warehouse.joinpath(*name.split(".")))


def set_retention(table: MaintainedTable, name: str, removed_files: timedelta, feed: timedelta) -> None:
    """Set the retention of removed files and log entries as table properties; a commit only if they change.

    `VACUUM RETAIN n HOURS` ignores its argument unless that is 0 (Delta 4.1), so the property has to be set.

    Args:
        table: the table.
        name: its name.
        removed_files: minimum retention of removed files of every table.
        feed: how long changes of tables of silver and gold can be read.
    """
    wanted, found = retention_properties(TABLES[name], removed_files, feed), table.properties
    there = {key: found.get(key, in_hours(_DELTA_DEFAULTS[key])) for key in wanted}
    log = wanted.get(LOG_ENTRIES)
    if log is not None and there[LOG_ENTRIES] != log:
        # Delta refuses a statement that sets a log retention shorter than the file retention.
        table.set_properties({LOG_ENTRIES: log, REMOVED_FILES: log})
        there[REMOVED_FILES] = log
    if there[REMOVED_FILES] != wanted[REMOVED_FILES]:
        table.set_properties({REMOVED_FILES: wanted[REMOVED_FILES]})


def set_file_size(table: MaintainedTable, name: str) -> None:
    """Set the size of files that OPTIMIZE of a workspace aims at; a commit only if it changes.

    Delta without the workspace refuses the property.
    """
    wanted = str(max_file_bytes(TABLES[name]))
    if table.properties.get(_FILE_SIZE) != wanted:
        table.set_properties({_FILE_SIZE: wanted})


def set_statistics(table: MaintainedTable, name: str) -> None:
    """Set the columns with statistics in the log; a commit only if they change, as of an older release."""
    columns = ",".join(statistics_columns(TABLES[name]))
    if columns and table.properties.get(STATISTICS) != columns:
        table.set_properties({STATISTICS: columns})


def delete_expired(table: MaintainedTable, name: str, now: datetime) -> None:
    """Delete rows that are older than the contract's expiry, if it has one."""
    expiry = TABLES[name].expiry
    if expiry is not None:
        column, age = expiry
        before = (now - age).astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        table.delete(f"{column} < '{before}'")
