"""Last-touch attribution and traffic by minute in the style of Spark's programming guide, one stream each.

The queries read the output of `silver_guide`, and do less than gold: a touch is a session closed by the
watermark, visitors are not merged to persons, there is one model, and late events are dropped.
"""

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from benchmarks.silver_guide import stream, write

_DELAY = "10 minutes"


def write_attribution(spark: SparkSession, home: Path) -> None:
    """Join goals with sessions of the last 30 days, and keep the last session of each goal."""
    goals = stream(spark, home, "guide/events").where("name = 'Order Completed'")
    goals = goals.select("event_id", "visitor_id", F.col("event_time").alias("converted_at"), "value")
    touches = stream(spark, home, "guide/sessions").select(
        F.col("visitor_id").alias("t_visitor_id"),
        *("started_at", "campaign_source", "campaign_medium", "campaign_name"),
    )
    soon = F.expr(
        "visitor_id = t_visitor_id AND started_at <= converted_at "
        "AND started_at >= converted_at - INTERVAL 30 days"
    )
    joined = goals.withWatermark("converted_at", _DELAY).join(
        touches.withWatermark("started_at", _DELAY), soon, "left_outer"
    )
    campaign = F.struct("campaign_source", "campaign_medium", "campaign_name")
    last = joined.groupBy("event_id", "visitor_id", "value", F.window("converted_at", "1 second")).agg(
        F.max_by(campaign, "started_at").alias("touch")
    )
    write(last.drop("window"), home, "attribution")


def write_traffic(spark: SparkSession, home: Path) -> None:
    """Count events and visitors by minute."""
    events = stream(spark, home, "guide/events").withWatermark("event_time", _DELAY)
    minutes = events.groupBy(F.window("event_time", "1 minute")).agg(
        F.count("*").alias("events"),
        F.approx_count_distinct("visitor_id").alias("visitors"),
        F.count_if(F.col("name") == "Order Completed").alias("conversions"),
    )
    write(minutes.select("window.start", "window.end", "events", "visitors", "conversions"), home, "traffic")


STEPS: dict[str, Callable[[SparkSession, Path], None]] = {
    "attribution": write_attribution,
    "traffic": write_traffic,
}
