"""The funnel: how many visitors of a day went how far, one step after the other."""

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gold.days import Days
from gold.rules.funnel import STEPS


def measure_funnel(
    events: DataFrame, clicks: DataFrame, conversions: DataFrame, orders: Iterable[str], days: Days
) -> DataFrame:
    """How many visitors reached each step after the one before, on the same day.

    Args:
        events: silver.events of these days.
        clicks: gold.touches of kind `click`, of these days.
        conversions: gold.conversions of these days.
        orders: goals that are orders.
        days: which.

    Returns:
        gold.funnel: all steps of each day that anybody took the first on.
    """
    seen = events.where("role IN ('impression', 'page_view', 'search')").select(
        "visitor_id",
        F.col("event_time").alias("at"),
        "event_id",
        F.when(F.col("role") == "page_view", "visit").otherwise(F.col("role")).alias("step"),
    )
    clicked = clicks.select(
        "visitor_id", F.col("touched_at").alias("at"), "event_id", F.lit("click").alias("step")
    )
    ordered = conversions.where(F.col("goal").isin(*orders)).select(
        "visitor_id", F.col("converted_at").alias("at"), "event_id", F.lit("order").alias("step")
    )
    taken = seen.unionByName(clicked).unionByName(ordered).withColumn("day", days.day_of("at"))
    in_order = F.sort_array(F.collect_list(F.struct("at", "event_id", "step")))
    journeys = taken.groupBy("day", "visitor_id").agg(_depth(in_order).alias("depth"))
    numbers = F.posexplode(F.array(*map(F.lit, STEPS))).alias("number", "step")
    counts = journeys.where("depth > 0").select("day", "depth", numbers)
    return counts.groupBy("day", "step").agg(F.count_if(F.col("depth") > F.col("number")).alias("visitors"))


def _depth(events: Column) -> Column:
    """How many steps were taken one after the other: the next one counts when it comes."""
    steps = F.array(*map(F.lit, STEPS))

    def go_on(depth: Column, event: Column) -> Column:
        return F.when(event["step"] == F.get(steps, depth), depth + 1).otherwise(depth)

    return F.aggregate(events, F.lit(0), go_on)
