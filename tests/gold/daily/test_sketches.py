"""Sketches by day: Spark's own functions read them, and each order counts once."""

from datetime import date

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from folds.sketches.value_sketch import quantiles
from folds.sketches.visitor_sketch import estimate_visitors, sketch_visitors
from gold.daily.update import run_query
from lakehouse.contracts.daily import SKETCHES
from lakehouse.rows.arrow_frames import to_frame

pytestmark = pytest.mark.long


def test_spark_estimates_merged_sketches_like_the_project(spark: SparkSession) -> None:
    days = [sketch_visitors([f"v{number}" for number in range(first, first + 5_000)]) for first in (0, 2_500)]
    rows = spark.createDataFrame([(day,) for day in days], "visitors BINARY")
    merged = rows.agg(F.hll_sketch_estimate(F.hll_union_agg("visitors"))).first()
    assert merged is not None
    assert abs(merged[0] - estimate_visitors(days).visitors) <= 1


def test_order_belongs_to_its_credited_touch_alone(spark: SparkSession) -> None:
    campaign = dict.fromkeys(("campaign_source", "campaign_medium", "campaign_name"), "c")
    of_order = {**campaign, "day": date(2026, 3, 1), "conversion_id": "o", "model": "last_non_direct"}
    credits_ = (("Email", 0.0), ("Paid Search", 1.0), ("Direct", 0.0))
    attribution = [
        {**of_order, "channel": channel, "credit": credit, "credited_reporting_value": 50 * credit}
        for channel, credit in credits_
    ]
    session = {**campaign, "day": date(2026, 3, 1), "channel": "Email", "visitor_id": "v"}
    inputs = {
        "attribution": pa.Table.from_pylist([{**row, "is_counted": True} for row in attribution]),
        "orders": pa.table({"conversion_id": ["o"]}),
        "sessions": pa.Table.from_pylist([session, session, {**session, "visitor_id": "w"}]),
    }
    frames = {name: to_frame(spark, rows) for name, rows in inputs.items()}
    rows = {row.channel: row for row in run_query(SKETCHES.name, frames).collect()}
    assert {channel: (row.sessions, row.orders) for channel, row in rows.items()} == {
        "Paid Search": (0, 1),
        "Email": (3, 0),
    }
    assert estimate_visitors([rows["Email"].visitors]).visitors == pytest.approx(2, abs=0.01)
    (median,) = quantiles([bytes(rows["Paid Search"].order_values)], [0.5]) or []
    assert median.value == 50.0
