"""Checkpoints and range partitions of frames."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from weakref import WeakKeyDictionary

from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation, SparkSession, is_remote

MAX_ROWS_PER_FILE = 250_000
"""For append-only tables, when all rows are written at once."""

MAX_ROWS_PER_MUTABLE_FILE = 100_000
"""For tables that are merged into: a merge rewrites whole files."""

_made: WeakKeyDictionary[SparkSession, list[int]] = WeakKeyDictionary()
"""Ids of the checkpoints' RDDs, by session that is in `released_at_end`."""


@contextmanager
def released_at_end(spark: SparkSession) -> Iterator[None]:
    """Release the checkpoints that a session makes in this block when it ends.

    Otherwise Spark releases one only after a garbage collection of the driver has found it unused. Not for
    two threads of a session at the same time. Spark Connect releases a checkpoint with its frame.
    """
    outer = _made.get(spark)
    checkpoints = _made[spark] = list[int]()
    try:
        yield
    finally:
        if outer is None:
            del _made[spark]
        else:
            _made[spark] = outer
        if checkpoints:
            kept = spark.sparkContext._jsc.getPersistentRDDs()  # noqa: SLF001 - PySpark has no call
            for each in checkpoints:
                if (rdd := kept.get(each)) is not None:  # else a collection has found it
                    rdd.unpersist(False)


def _note(computed: DataFrame, made: list[int]) -> None:
    """Note the RDD of a checkpoint by its id, so that a collection may release it before."""
    from py4j.protocol import Py4JError

    # a runtime whose checkpoints are something else keeps them until a collection
    with suppress(Py4JError, AttributeError):
        made.append(computed._jdf.queryExecution().logical().rdd().id())  # noqa: SLF001 - PySpark has no call


def checkpoint(frame: DataFrame) -> DataFrame:
    """Compute a frame and cut its lineage, by an eager local checkpoint.

    Every rule of the optimizer walks the whole plan, through cached frames to their sources. Without
    checkpoints planning takes longer than execution. On a cluster two executors hold the blocks, so the loss
    of one does not fail the job.
    """
    spark = frame.sparkSession
    if _is_on_executors(spark):
        computed = frame.localCheckpoint(eager=True, storageLevel=StorageLevel.MEMORY_AND_DISK_2)
    else:
        computed = frame.localCheckpoint(eager=True)
    if (made := _made.get(spark)) is not None and not is_remote():
        _note(computed, made)
    return computed


def _is_on_executors(spark: SparkSession) -> bool:
    """Whether blocks are on executors, which may be lost; no where the runtime does not say it."""
    with suppress(PySparkException):  # serverless compute refuses to return most settings
        return not str(spark.conf.get("spark.master", "local")).startswith("local")
    return False


def checkpoint_with(frame: DataFrame, **aggregates: Column) -> tuple[DataFrame, Mapping[str, Any]]:
    """Compute a frame as `checkpoint` does, and aggregates of its rows in the same Spark job.

    Args:
        frame: the frame.
        aggregates: aggregates over all rows, by name.

    Returns:
        The checkpointed frame, and the value of each aggregate.
    """
    observed = Observation()
    named = [each.alias(name) for name, each in aggregates.items()]
    computed = checkpoint(frame.observe(observed, *named))
    found: Mapping[str, Any] = observed.get
    if any(type(each).__module__.startswith("py4j") for each in found.values()):
        # Spark 4.0 gives times, arrays and structs as objects of Java: another job has their values
        found = computed.agg(*named).collect()[0].asDict()
    return computed, found


def range_partition(frame: DataFrame, time: str, most: int) -> DataFrame:
    """Range-partition a checkpointed frame by time, with on average at most `most` rows per partition."""
    return frame.repartitionByRange(frame.count() // most + 1, time).sortWithinPartitions(time)
