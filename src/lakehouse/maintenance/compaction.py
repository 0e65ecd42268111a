"""Compaction, VACUUM and expiry of Delta tables.

Compaction and VACUUM do not change rows, so streaming readers see no new data.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from lakehouse.contracts import TABLES
from lakehouse.contracts.table import LOG_ENTRIES
from lakehouse.delta.compaction_plan import MAX_FILE_BYTES, MIN_FILES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.table_properties import REMOVED_FILES, retention_properties
from lakehouse.maintenance.retention import in_hours

_FILE_SIZES = ("spark.databricks.delta.optimize.maxFileSize", "spark.databricks.delta.optimize.minFileSize")
_SETTINGS = {
    **dict.fromkeys(_FILE_SIZES, str(MAX_FILE_BYTES)),
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


def compact(lake: Lakehouse, name: str) -> Compacted:
    """Compact the small files of a table, without Spark if possible, else by its OPTIMIZE.

    Commits have `dataChange` false, and new files have statistics of ingest stamp and event time.

    Raises:
        one of `COLLISIONS` or VersionTakenError: another commit conflicted, and nothing was done.
    """
    contract, local = TABLES[name], lake.local.of(name)
    if local and set(local.column_names(contract)) <= set(contract.column_names):  # else some would be lost
        return Compacted(*local.compact(contract))
    table = _in_spark(lake, name)
    before = _files(table)
    if before <= MIN_FILES:
        return Compacted(before, before)
    table.optimize().executeCompaction()
    return Compacted(before, _files(table))


def set_retention(lake: Lakehouse, name: str, removed_files: timedelta, feed: timedelta) -> None:
    """Set the retention of removed files and log entries as table properties; a commit only if they change.

    `VACUUM RETAIN n HOURS` ignores its argument unless that is 0 (Delta 4.1), so the property has to be set.

    Args:
        lake: the tables.
        name: the table.
        removed_files: minimum retention of removed files of every table.
        feed: how long changes of tables of silver and gold can be read.
    """
    wanted, found = retention_properties(TABLES[name], removed_files, feed), _properties(lake, name)
    there = {key: found.get(key, in_hours(_DELTA_DEFAULTS[key])) for key in wanted}
    log = wanted.get(LOG_ENTRIES)
    if log is not None and there[LOG_ENTRIES] != log:
        # Delta refuses a statement that sets a log retention shorter than the file retention.
        _set_properties(lake, name, {LOG_ENTRIES: log, REMOVED_FILES: log})
        there[REMOVED_FILES] = log
    if there[REMOVED_FILES] != wanted[REMOVED_FILES]:
        _set_properties(lake, name, {REMOVED_FILES: wanted[REMOVED_FILES]})


def delete_expired(lake: Lakehouse, name: str, now: datetime) -> None:
    """Delete rows that are older than the contract's expiry, if it has one."""
    expiry = TABLES[name].expiry
    if expiry is not None:
        column, age = expiry
        before = (now - age).astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        expired = f"{column} < '{before}'"
        if local := lake.local.of(name):  # Spark could overwrite the commit of a process that reads tables
            local.delete(TABLES[name], expired)
        else:
            _in_spark(lake, name).delete(expired)


def vacuum(lake: Lakehouse, name: str) -> None:
    """Remove files that no version within the table's retention refers to (VACUUM)."""
    if local := lake.local.of(name):
        local.vacuum(TABLES[name])
    else:
        _in_spark(lake, name).vacuum()


def _properties(lake: Lakehouse, name: str) -> Mapping[str, str]:
    if local := lake.local.of(name):
        return local.properties(TABLES[name])
    detail: Any = _in_spark(lake, name).detail().select("properties").collect()[0]
    found: Mapping[str, str] = detail.properties
    return found


def _set_properties(lake: Lakehouse, name: str, properties: Mapping[str, str]) -> None:
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    lake.read(name)
    lake.spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({listed})")


def _in_spark(lake: Lakehouse, name: str) -> DeltaTable:
    lake.read(name)  # registers it in Spark's catalog
    return DeltaTable.forName(lake.spark, name)


def _files(table: DeltaTable) -> int:
    detail: Any = table.detail().select("numFiles").collect()[0]
    return int(detail.numFiles)
