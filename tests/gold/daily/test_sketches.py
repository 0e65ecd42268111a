"""Spark's own sketch functions on sketches of the project."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from folds.sketches.visitor_sketch import estimate_visitors, sketch_visitors


def test_spark_estimates_merged_sketches_like_the_project(spark: SparkSession) -> None:
    days = [sketch_visitors([f"v{number}" for number in range(first, first + 5_000)]) for first in (0, 2_500)]
    rows = spark.createDataFrame([(day,) for day in days], "visitors BINARY")
    merged = rows.agg(F.hll_sketch_estimate(F.hll_union_agg("visitors"))).first()
    assert merged is not None
    assert abs(merged[0] - estimate_visitors(days).visitors) <= 1
