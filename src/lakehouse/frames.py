"""Frames as values."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

_FUSING = "spark.sql.codegen.wholeStage"
_COMPILING = "spark.sql.codegen.factoryMode"

MANY = 50_000
"""Rows of a micro-batch from which compiling pays: docs/decisions/0020."""

LONG = 1_000_000
"""Rows of a history from which it pays: what a micro-batch touches lies in files of many rows by then."""


def settle(frame: DataFrame) -> DataFrame:
    """Compute a frame now and forget how it came about.

    What is built on it is planned from here: without this, planning takes longer than the work, since a
    plan is walked by every rule of the optimizer and a cached frame is still walked to its sources.
    On a cluster two machines keep it: with one of them lost, the other goes on.
    """
    if str(frame.sparkSession.conf.get("spark.master", "local")).startswith("local"):
        return frame.localCheckpoint(eager=True)
    return frame.localCheckpoint(eager=True, storageLevel=StorageLevel.MEMORY_AND_DISK_2)


def prepare_for(spark: SparkSession, rows: int, behind: int) -> None:
    """Have a session's queries interpreted from now on if they are about few rows, else compiled.

    Stamps stand in the code that Spark generates, so that of a micro-batch has never been seen before: it
    is compiled for this micro-batch alone, and again by Java. That pays by the row.

    Args:
        spark: the session.
        rows: of the micro-batch to come.
        behind: rows of all those before it.
    """
    pays = rows >= MANY or behind >= LONG
    _try_to_set(spark, _COMPILING, "FALLBACK" if pays else "NO_CODEGEN")


@contextmanager
def unfused(spark: SparkSession) -> Iterator[None]:
    """Let frames that are settled meanwhile be computed operator by operator.

    Spark makes one method of a whole stage. Java compiles none of more than 8,000 bytes: one that works out
    many columns has 30,000, and is interpreted for every row. An operator by itself is split into small
    methods. They take longer to make, so it pays for many rows.

    Args:
        spark: a session that nobody else uses meanwhile.
    """
    before = spark.conf.get(_FUSING, "true")
    _try_to_set(spark, _FUSING, "false")
    try:
        yield
    finally:
        _try_to_set(spark, _FUSING, str(before))


def _try_to_set(spark: SparkSession, name: str, value: str) -> None:
    """Set what makes queries quicker and nothing else; a runtime that won't have it does as it likes."""
    with suppress(PySparkException):
        spark.conf.set(name, value)
