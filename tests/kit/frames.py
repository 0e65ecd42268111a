"""DataFrames from the rows of a test."""

from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lakehouse.contracts import TABLES


def frame_of(spark: SparkSession, name: str, rows: Iterable[Mapping[str, Any]]) -> DataFrame:
    """Rows with the schema of a table. Missing columns become null."""
    return spark.createDataFrame([dict(row) for row in rows], TABLES[name].ddl)
