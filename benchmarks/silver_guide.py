"""The tables of silver as queries in the style of Spark's programming guide, one stream each.

The queries do less than silver: events behind the watermark are dropped, copies behind the watermark count as
new events, a click matches every impression before it, and bot windows slide by ten seconds. Copies are not
stored, and the sample has no exchange rates. So they are a baseline with less work.
"""

import re
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from folds.visitors.bots import BotRules, load_bot_rules
from lakehouse.settings import load_settings

_PAGE = "struct<url: string, referrer: string>"
_CAMPAIGN = "struct<source: string, medium: string, name: string>"
_PROPERTIES = ["promotion_id", "query", "product_id", "order_id", "total", "revenue", "currency"]
_MESSAGE = (
    "messageId string, type string, event string, anonymousId string, userId string, "
    "originalTimestamp timestamp, sentAt timestamp, receivedAt timestamp, timestamp timestamp, "
    f"context struct<page: {_PAGE}, campaign: {_CAMPAIGN}, userAgent: string>, properties string"
)
_DELAY = "10 minutes"


def write_events(spark: SparkSession, home: Path) -> None:
    """Parse bronze, correct device clocks, and drop copies."""
    value = F.from_json(F.col("value").cast("string"), _MESSAGE)
    properties = F.from_json("m.properties", ", ".join(f"{name} string" for name in _PROPERTIES))
    records = stream(spark, home, "bronze/kafka_records").withColumn("m", value)
    events = (
        records.where(F.col("m.messageId").isNotNull() & F.col("m.type").isNotNull())
        .withColumn("p", properties)
        .select(
            F.col("m.messageId").alias("event_id"),
            "m.type",
            F.col("m.event").alias("name"),
            F.coalesce("m.anonymousId", "m.userId").alias("visitor_id"),
            F.col("m.userId").alias("user_id"),
            F.expr("m.receivedAt - (m.sentAt - m.originalTimestamp)").alias("event_time"),
            F.col("m.receivedAt").alias("arrival_time"),
            F.col("m.originalTimestamp").alias("device_time"),
            F.col("m.context.page.url").alias("url"),
            F.col("m.context.page.referrer").alias("referrer"),
            F.col("m.context.userAgent").alias("user_agent"),
            F.col("m.context.campaign.source").alias("campaign_source"),
            F.col("m.context.campaign.medium").alias("campaign_medium"),
            F.col("m.context.campaign.name").alias("campaign_name"),
            *(F.col(f"p.{name}") for name in _PROPERTIES if name not in ("total", "revenue")),
            F.coalesce("p.total", "p.revenue").try_cast("decimal(18,4)").alias("value"),
            F.col("m.properties").alias("properties"),
            *("topic", "partition", "offset"),
        )
        .withWatermark("event_time", _DELAY)
    )
    write(events.dropDuplicatesWithinWatermark(["event_id"]), home, "events")


def write_rejected(spark: SparkSession, home: Path) -> None:
    """Write rejected records with their reason."""
    read = stream(spark, home, "bronze/kafka_records").withColumn(
        "m", F.from_json(F.col("value").cast("string"), _MESSAGE)
    )
    reason = (
        F.when(F.col("value").isNull(), "empty")
        .when(F.col("m.messageId").isNull() & F.col("m.type").isNull(), "not_json")
        .when(F.col("m.messageId").isNull(), "no_message_id")
        .when(F.col("m.type").isNull(), "no_type")
        .when(~F.col("m.type").isin("page", "screen", "track", "identify", "group", "alias"), "unknown_type")
        .when(F.coalesce("m.anonymousId", "m.userId").isNull(), "no_identity")
    )
    reported = read.withColumn("reason", reason).where(F.col("reason").isNotNull())
    write(reported.select("reason", "value", "topic", "partition", "offset"), home, "rejected_events")


def write_sessions(spark: SparkSession, home: Path) -> None:
    """Close a session after 30 minutes without an event."""
    events = stream(spark, home, "guide/events").withWatermark("event_time", _DELAY)
    visits = events.where(F.col("type").isin("page", "screen", "track"))
    first, last = (
        (lambda column: F.min_by(column, "event_time")),
        (lambda column: F.max_by(column, "event_time")),
    )
    sessions = visits.groupBy("visitor_id", F.session_window("event_time", "30 minutes")).agg(
        F.min("event_time").alias("started_at"),
        F.max("event_time").alias("ended_at"),
        F.count("*").alias("events"),
        F.count_if(F.col("type").isin("page", "screen")).alias("page_views"),
        first("url").alias("entry_url"),
        last("url").alias("exit_url"),
        *(
            first(name).alias(name)
            for name in ("referrer", "campaign_source", "campaign_medium", "campaign_name")
        ),
    )
    write(sessions.drop("session_window"), home, "sessions")


def write_impressions(spark: SparkSession, home: Path) -> None:
    """Join impressions with clicks in the following 30 minutes."""
    same = F.expr("i.promotion_id = c.c_promotion_id")
    _join(
        spark,
        home,
        "impressions",
        ("Promotion Viewed", "Promotion Clicked"),
        "promotion_id",
        same,
        "30 minutes",
    )


def write_searches(spark: SparkSession, home: Path) -> None:
    """Join searches with result clicks in the following 10 minutes."""
    names = ("Products Searched", "Product Clicked")
    _join(spark, home, "searches", names, "product_id", F.lit(True), "10 minutes")


def write_identities(spark: SparkSession, home: Path) -> None:
    """Write the latest user of each visitor."""
    said = stream(spark, home, "guide/events").where(F.col("user_id").isNotNull())
    latest = said.groupBy("visitor_id").agg(
        F.max_by("user_id", "event_time").alias("user_id"), F.max("event_time").alias("identified_at")
    )
    write(latest, home, "identities", "complete")


def write_named_bots(spark: SparkSession, home: Path) -> None:
    """Write visitors with a user agent on the bot list."""
    pattern = _agent_pattern(load_bot_rules(load_settings().conf))
    named = stream(spark, home, "guide/events").where(F.lower("user_agent").rlike(pattern))
    since = named.groupBy("visitor_id").agg(F.min("event_time").alias("since"))
    write(since, home, "named_bots", "complete")


def _agent_pattern(rules: BotRules) -> str:
    """One regular expression of all patterns and names, for user agents in lower case."""
    patterns = [f"(?:{pattern})" for pattern in rules.agents.patterns]
    names = [re.escape(name.strip("^$")) for name in rules.agents.names]
    return "|".join([*patterns, rf"(?<![a-z0-9])(?:{'|'.join(names)})"])


def write_quick_bots(spark: SparkSession, home: Path) -> None:
    """Write visitors with more than 100 events in a minute."""
    events = stream(spark, home, "guide/events").withWatermark("event_time", _DELAY)
    minutes = events.groupBy("visitor_id", F.window("event_time", "60 seconds", "10 seconds")).count()
    write(
        minutes.where(F.col("count") > load_bot_rules(load_settings().conf).most_events), home, "quick_bots"
    )


STEPS: dict[str, Callable[[SparkSession, Path], None]] = {
    "events": write_events,
    "rejected": write_rejected,
    "sessions": write_sessions,
    "impressions": write_impressions,
    "searches": write_searches,
    "identities": write_identities,
    "named bots": write_named_bots,
    "quick bots": write_quick_bots,
}


def _join(
    spark: SparkSession,
    home: Path,
    name: str,
    names: tuple[str, str],
    reported: str,
    same: Column,
    within: str,
) -> None:
    offers, clicks = (
        stream(spark, home, "guide/events").where(F.col("name") == each).withWatermark("event_time", _DELAY)
        for each in names
    )
    offers = offers.select("event_id", "visitor_id", "promotion_id", "query", "event_time").alias("i")
    clicks = clicks.select(
        F.col("event_id").alias("click_id"),
        F.col("visitor_id").alias("c_visitor_id"),
        F.col(reported).alias(f"c_{reported}"),
        F.col("event_time").alias("clicked_at"),
    ).alias("c")
    soon = F.expr(
        "i.visitor_id = c.c_visitor_id AND c.clicked_at >= i.event_time "
        f"AND c.clicked_at < i.event_time + INTERVAL {within}"
    )
    write(offers.join(clicks, soon & same, "left_outer"), home, name)


def stream(spark: SparkSession, home: Path, table: str) -> DataFrame:
    """A bronze table of the home, or an output of the guide's queries, as a stream."""
    folder = home / ("warehouse" if table.startswith("bronze") else "") / table
    return spark.readStream.format("delta").load(str(folder))


def write(rows: DataFrame, home: Path, name: str, mode: str = "append") -> None:
    """Write all available rows, then stop."""
    writer = rows.writeStream.format("delta").outputMode(mode).trigger(availableNow=True)
    checkpoint = str(home / "guide" / "checkpoints" / name)
    query = writer.option("checkpointLocation", checkpoint).start(str(home / "guide" / name))
    query.awaitTermination()
