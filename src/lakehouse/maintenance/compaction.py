"""Compaction, VACUUM and expiry of Delta tables.

Compaction and VACUUM do not change rows, so streaming readers see no new data.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from lakehouse.contracts import TABLES
from lakehouse.contracts.table import LOG_ENTRIES
from lakehouse.delta.table_properties import REMOVED_FILES, retention_properties
from lakehouse.maintenance.retention import in_hours
from lakehouse.rows.checkpointing import MAX_ROWS_PER_MUTABLE_FILE

MIN_FILES = 16
"""Tables with at most so many files are not compacted."""

# Larger files are left alone: each holds a range of event times and is pruned by it.
_FILE_BYTES = 32 * 1024 * 1024
_FILE_SIZES = ("spark.databricks.delta.optimize.maxFileSize", "spark.databricks.delta.optimize.minFileSize")
_SETTINGS = {
    # One file after the other: the streaming jobs need the cores.
    "spark.databricks.delta.optimize.maxThreads": "1",
    # Else each run would add two commits to the log of each table.
    "spark.databricks.delta.vacuum.logging.enabled": "false",
}
_DELTA_DEFAULTS = {REMOVED_FILES: timedelta(days=7), LOG_ENTRIES: timedelta(days=30)}


@dataclass(frozen=True)
class Compacted:
    """Number of files of a table before and after compaction."""

    before: int
    after: int


def configure_session(spark: SparkSession) -> None:
    """Set a local session's options of OPTIMIZE and VACUUM."""
    for name, value in _SETTINGS.items():
        spark.conf.set(name, value)


def set_target_file_size(spark: SparkSession, name: str) -> None:
    """Set the file size of the next compaction; for mutable tables by `MAX_ROWS_PER_MUTABLE_FILE`."""
    size = _FILE_BYTES
    if TABLES[name].is_mutable and (rows := spark.table(name).count()):
        detail: Any = DeltaTable.forName(spark, name).detail().select("sizeInBytes").collect()[0]
        size = min(size, math.ceil(detail.sizeInBytes / rows * MAX_ROWS_PER_MUTABLE_FILE))
    for setting in _FILE_SIZES:
        spark.conf.set(setting, str(size))


def compact(spark: SparkSession, name: str) -> Compacted:
    """Compact the small files of a table (OPTIMIZE).

    Commits have `dataChange` false, and new files have statistics of ingest stamp and event time.

    Raises:
        one of `COLLISIONS`: another commit conflicted, and nothing was done.
    """
    table = DeltaTable.forName(spark, name)
    before = _files(table)
    if before <= MIN_FILES:
        return Compacted(before, before)
    table.optimize().executeCompaction()
    return Compacted(before, _files(table))


def set_retention(spark: SparkSession, name: str, removed_files: timedelta, feed: timedelta) -> None:
    """Set the retention of removed files and log entries as table properties; a commit only if they change.

    `VACUUM RETAIN n HOURS` ignores its argument unless that is 0 (Delta 4.1), so the property has to be set.

    Args:
        spark: the job's session.
        name: the table.
        removed_files: how long every table keeps them at least.
        feed: how long changes of tables of silver and gold can be read.
    """
    detail: Any = DeltaTable.forName(spark, name).detail().select("properties").collect()[0]
    wanted = retention_properties(TABLES[name], removed_files, feed)
    there = {key: detail.properties.get(key, in_hours(_DELTA_DEFAULTS[key])) for key in wanted}
    log = wanted.get(LOG_ENTRIES)
    if log is not None and there[LOG_ENTRIES] != log:
        # In one statement Delta takes no log retention shorter than that of files.
        _set_properties(spark, name, {LOG_ENTRIES: log, REMOVED_FILES: log})
        there[REMOVED_FILES] = log
    if there[REMOVED_FILES] != wanted[REMOVED_FILES]:
        _set_properties(spark, name, {REMOVED_FILES: wanted[REMOVED_FILES]})


def _set_properties(spark: SparkSession, name: str, properties: Mapping[str, str]) -> None:
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({listed})")


def delete_expired(spark: SparkSession, name: str, now: datetime) -> None:
    """Delete rows that are older than the contract's expiry, if it has one."""
    expiry = TABLES[name].expiry
    if expiry is not None:
        column, age = expiry
        before = (now - age).astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        DeltaTable.forName(spark, name).delete(f"`{column}` < TIMESTAMP '{before}'")


def vacuum(spark: SparkSession, name: str) -> None:
    """Remove files that no version within the table's retention refers to (VACUUM)."""
    DeltaTable.forName(spark, name).vacuum()


def _files(table: DeltaTable) -> int:
    detail: Any = table.detail().select("numFiles").collect()[0]
    return int(detail.numFiles)
