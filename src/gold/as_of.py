"""Joins rows with the versions of the shop's rows that were valid at their time."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F


def period() -> list[Column]:
    """Columns of a dimension that `as_of` needs."""
    order = F.struct("source", "source_table", "row_key", "version_id")
    return [order.alias("_order"), F.col("valid_from").alias("_from"), F.col("valid_to").alias("_to")]


def as_of(rows: DataFrame, versions: DataFrame, key: str, time: str, row_key: Sequence[str]) -> DataFrame:
    """Rows with the version of a key at a time; of several rows with this key, the first one's.

    Args:
        rows: the rows.
        versions: the key, other columns, and those of `period`.
        key: a column of both.
        time: a timestamp column of the rows.
        row_key: the key of the rows.
    """
    versions = versions.withColumnRenamed(key, "_key")
    at = rows[time]
    is_valid = (versions["_from"].isNull() | (versions["_from"] <= at)) & (
        versions["_to"].isNull() | (at < versions["_to"])
    )
    found = rows.join(versions, (rows[key] == versions["_key"]) & at.isNotNull() & is_valid, "left")
    first = F.row_number().over(Window.partitionBy(*row_key).orderBy("_order"))
    return (
        found.withColumn("_first", first).where("_first = 1").drop("_first", "_order", "_from", "_to", "_key")
    )
