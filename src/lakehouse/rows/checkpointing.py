"""Frames as values."""

from pyspark import StorageLevel
from pyspark.sql import DataFrame

ROWS_OF_A_FILE = 250_000
"""At most, where many rows are written anew."""

ROWS_OF_A_SWAPPED_FILE = 100_000
"""The same, of a table whose rows are swapped: a swap writes whole files."""


def settle(frame: DataFrame) -> DataFrame:
    """Compute a frame now and forget how it came about.

    What is built on it is planned from here: without this, planning takes longer than the work, since a
    plan is walked by every rule of the optimizer and a cached frame is still walked to its sources.
    On a cluster two machines keep it: with one of them lost, the other goes on.
    """
    if str(frame.sparkSession.conf.get("spark.master", "local")).startswith("local"):
        return frame.localCheckpoint(eager=True)
    return frame.localCheckpoint(eager=True, storageLevel=StorageLevel.MEMORY_AND_DISK_2)


def in_stretches(frame: DataFrame, time: str, most: int) -> DataFrame:
    """A settled frame as files are to hold it: of so many rows at most, and a stretch of time each."""
    return frame.repartitionByRange(frame.count() // most + 1, time).sortWithinPartitions(time)
