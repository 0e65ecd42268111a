"""Frames of rows that a test has thought of."""

from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lakehouse.contracts import TABLES


def frame_of(spark: SparkSession, name: str, rows: Iterable[Mapping[str, Any]]) -> DataFrame:
    """Rows as a table has them; columns that a row lacks are null."""
    return spark.createDataFrame([dict(row) for row in rows], TABLES[name].ddl)
