"""Touches: counted clicks, and starts of sessions."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from gold.clicks import count_clicks
from gold.rules.clicks import SEEN_WITHIN
from lakehouse.contracts.gold import TOUCHES

_CAMPAIGN = ("campaign_source", "campaign_medium", "campaign_name")


def find_touches(events: DataFrame, sessions: DataFrame) -> DataFrame:
    """Every touch of the visitors given.

    A counted click is never Direct: its own campaign's channel, else Display. A session that starts with
    a counted click is one touch, the click.

    Args:
        events: silver.events of whole sessions; those of role `click` and `impression` count.
        sessions: silver.sessions, the same.

    Returns:
        gold.touches.
    """
    clicks = events.where("role = 'click'")
    counted = _with_impressions(events).join(count_clicks(clicks), "event_id", "left_semi")
    own = F.coalesce(*_CAMPAIGN).isNotNull() & (F.col("channel") != "Direct")
    clicked = counted.select(
        F.col("event_id").alias("touch_id"),
        "visitor_id",
        F.col("event_time").alias("touched_at"),
        F.lit("click").alias("kind"),
        "event_id",
        F.when(own, F.col("channel")).otherwise("Display").alias("channel"),
        *_CAMPAIGN,
        "promotion_id",
        "url",
        "referrer",
        "impression",
        "rules_version",
    )
    starts = sessions.join(
        clicked.select(F.col("event_id").alias("first_event_id")), "first_event_id", "left_anti"
    )
    visited = starts.select(
        F.col("session_id").alias("touch_id"),
        "visitor_id",
        F.col("started_at").alias("touched_at"),
        F.lit("visit").alias("kind"),
        F.col("first_event_id").alias("event_id"),
        "channel",
        *_CAMPAIGN,
        F.col("entry_url").alias("url"),
        F.col("entry_referrer").alias("referrer"),
        "rules_version",
    )
    return clicked.unionByName(visited, allowMissingColumns=True).select(*TOUCHES.column_names)


def _with_impressions(events: DataFrame) -> DataFrame:
    """The clicks, each with the latest impression of its promotion that it may be on."""
    of_promotion = Window.partitionBy("visitor_id", "promotion_id")
    in_order = of_promotion.orderBy("event_time", F.col("role") == "click", "event_id")
    seen = F.struct("event_id", F.col("event_time").alias("at"), "url", "referrer")
    latest = F.last(F.when(F.col("role") == "impression", seen), ignorenulls=True).over(in_order)
    clicks = events.where("role IN ('impression', 'click')").withColumn("_seen", latest)
    in_time = F.col("event_time") < F.col("_seen.at") + F.lit(SEEN_WITHIN)
    return clicks.where("role = 'click'").withColumn("impression", F.when(in_time, F.col("_seen")))
