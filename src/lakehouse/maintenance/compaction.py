"""Small files put together, replaced ones removed. No row changes, so nobody who follows a table notices."""

import math
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from lakehouse.contracts import TABLES
from lakehouse.maintenance.retention import in_hours
from lakehouse.rows.checkpointing import ROWS_OF_A_SWAPPED_FILE

FEW = 16
"""A table with no more files is left as it is."""

# Files as large as that are done: each holds the rows of one stretch of time, and is left out by it.
_FILE_BYTES = 32 * 1024 * 1024
_FILE_SIZES = ("spark.databricks.delta.optimize.maxFileSize", "spark.databricks.delta.optimize.minFileSize")
_SETTINGS = {
    # One file after the other: the streams want the cores.
    "spark.databricks.delta.optimize.maxThreads": "1",
    # Else each run would add two commits to the log of each table.
    "spark.databricks.delta.vacuum.logging.enabled": "false",
}
_KEPT = "delta.deletedFileRetentionDuration"
_WITHOUT_A_WORD = timedelta(days=7)


@dataclass(frozen=True)
class Compacted:
    """What became of a table: files before, and files after."""

    before: int
    after: int


def prepare(spark: SparkSession) -> None:
    """Give a session what compaction on this machine goes by; a workspace has its own ways."""
    for name, value in _SETTINGS.items():
        spark.conf.set(name, value)


def fit(spark: SparkSession, name: str) -> None:
    """Have the next compaction make files of a table no larger than those that are written anew."""
    size = _FILE_BYTES
    if TABLES[name].is_swapped and (rows := spark.table(name).count()):
        detail: Any = DeltaTable.forName(spark, name).detail().select("sizeInBytes").collect()[0]
        size = min(size, math.ceil(detail.sizeInBytes / rows * ROWS_OF_A_SWAPPED_FILE))
    for setting in _FILE_SIZES:
        spark.conf.set(setting, str(size))


def compact(spark: SparkSession, name: str) -> Compacted:
    """Put the small files of a table together.

    The result has the same rows: commits say so (`dataChange` is false), and readers by ingest stamp or
    event time find them by the new files' statistics.

    Raises:
        one of `COLLISIONS`: another commit came in between, and nothing was done.
    """
    table = DeltaTable.forName(spark, name)
    before = _files(table)
    if before <= FEW:
        return Compacted(before, before)
    table.optimize().executeCompaction()
    return Compacted(before, _files(table))


def keep_replaced(spark: SparkSession, name: str, kept: timedelta) -> None:
    """Tell a table how long to keep what is replaced: a commit, if that is news.

    Tables are told since `VACUUM` ignores the hours that it is given, unless they are none (Delta 4.1).
    """
    detail: Any = DeltaTable.forName(spark, name).detail().select("properties").collect()[0]
    if detail.properties.get(_KEPT, in_hours(_WITHOUT_A_WORD)) != in_hours(kept):
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('{_KEPT}' = '{in_hours(kept)}')")


def remove_replaced(spark: SparkSession, name: str) -> None:
    """Remove files that no version refers to of the time that the table keeps them."""
    DeltaTable.forName(spark, name).vacuum()


def _files(table: DeltaTable) -> int:
    detail: Any = table.detail().select("numFiles").collect()[0]
    return int(detail.numFiles)
