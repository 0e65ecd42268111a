"""Touches: counted clicks and starts of sessions, and the journeys they make up."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from gold.clicks import count_clicks
from gold.rules.models import LOOK_BACK

_CAMPAIGN = ("campaign_source", "campaign_medium", "campaign_name")


def find_touches(events: DataFrame, sessions: DataFrame) -> DataFrame:
    """Every touch of the visitors given.

    A counted click is never Direct: its own campaign's channel, else Display. A session that starts with
    a counted click is one touch, the click.

    Args:
        events: silver.events.
        sessions: silver.sessions.

    Returns:
        visitor_id, touch_id, touched_at, channel, campaign_*, promotion_id.
    """
    clicks = events.where("role = 'click'")
    counted = clicks.join(count_clicks(clicks), "event_id", "left_semi")
    own = F.coalesce(*_CAMPAIGN).isNotNull() & (F.col("channel") != "Direct")
    clicked = counted.select(
        "visitor_id",
        F.col("event_id").alias("touch_id"),
        F.col("event_time").alias("touched_at"),
        F.when(own, F.col("channel")).otherwise("Display").alias("channel"),
        *_CAMPAIGN,
        "promotion_id",
    )
    starts = sessions.join(
        clicked.select("visitor_id", F.col("touch_id").alias("first_event_id")),
        ["visitor_id", "first_event_id"],
        "left_anti",
    ).select(
        "visitor_id",
        F.col("session_id").alias("touch_id"),
        F.col("started_at").alias("touched_at"),
        "channel",
        *_CAMPAIGN,
        F.lit(None).cast("string").alias("promotion_id"),
    )
    return clicked.unionByName(starts)


def trace_journeys(conversions: DataFrame, touches: DataFrame) -> DataFrame:
    """Each conversion with the person's touches of the look-back, in order.

    Args:
        conversions: with anchor_person and anchor_at.
        touches: with person_id.

    Returns:
        One row a conversion and touch: the conversion's columns, the touch's, `position` (1 = earliest)
        and `touches`, their number. A conversion without touches has one row: channel Direct,
        position 0, touches 0.
    """
    at, touched = F.col("anchor_at"), F.col("touched_at")
    look_back = F.lit(LOOK_BACK)
    within = (F.col("anchor_person") == F.col("_person")) & (touched <= at) & (touched >= at - look_back)
    joined = conversions.join(
        touches.withColumnRenamed("person_id", "_person").drop("visitor_id"), within, "left"
    ).drop("_person")
    of_conversion = Window.partitionBy("conversion_id")
    in_order = of_conversion.orderBy("touched_at", "touch_id")
    found = F.col("touch_id").isNotNull()
    return joined.withColumns(
        {
            "position": F.when(found, F.row_number().over(in_order)).otherwise(0),
            "touches": F.count("touch_id").over(of_conversion),
            "channel": F.when(found, F.col("channel")).otherwise("Direct"),
        }
    )
