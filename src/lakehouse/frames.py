"""Frames as values."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

_FUSING = "spark.sql.codegen.wholeStage"


def settle(frame: DataFrame) -> DataFrame:
    """Compute a frame now and forget how it came about.

    What is built on it is planned from here: without this, planning takes longer than the work, since a
    plan is walked by every rule of the optimizer and a cached frame is still walked to its sources.
    On a cluster two machines keep it: with one of them lost, the other goes on.
    """
    if str(frame.sparkSession.conf.get("spark.master", "local")).startswith("local"):
        return frame.localCheckpoint(eager=True)
    return frame.localCheckpoint(eager=True, storageLevel=StorageLevel.MEMORY_AND_DISK_2)


@contextmanager
def unfused(spark: SparkSession) -> Iterator[None]:
    """Let frames that are settled meanwhile be computed operator by operator.

    Spark makes one method of a whole stage. Java compiles none of more than 8,000 bytes: one that works out
    many columns has 30,000, and is interpreted for every row. An operator by itself is split into small
    methods. They take longer to make, so it pays for many rows.

    Args:
        spark: a session that nobody else uses meanwhile.
    """
    before = spark.conf.get(_FUSING)
    spark.conf.set(_FUSING, "false")
    try:
        yield
    finally:
        spark.conf.set(_FUSING, str(before))
