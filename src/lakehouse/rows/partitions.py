"""Partitions of frames, by the cores of the application."""

from pyspark.sql import DataFrame, SparkSession


def in_few_partitions(union: DataFrame) -> DataFrame:
    """A union with at most one partition per core, not with those of all its frames.

    Each task of a union gets the plans of all frames, which takes longer than a few rows.
    """
    cores = cores_of(union.sparkSession)
    return union if cores is None else union.coalesce(cores)


def cores_of(spark: SparkSession) -> int | None:
    """Cores of the application; None where the runtime does not say, and chooses itself."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # noqa: BLE001 - Spark Connect has no Spark context
        return None
