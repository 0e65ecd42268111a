"""Traffic: what happened in each window of time, overall and by channel."""

from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gold.clicks import count_clicks
from lakehouse.frames import settle

MINUTE = "1 minute"
_COUNTS = {
    "events": "_event",
    "page_views": "_page_view",
    "sessions": "_session",
    "impressions": "_impression",
    "clicks": "_click",
    "searches": "_search",
    "conversions": "_conversion",
}
_MEASURES = (
    "events", "page_views", "visitors", "sessions", "impressions", "clicks", "searches", "conversions",
    "reporting_value",
)  # fmt: skip


def minute_of(time: str) -> Column:
    """Start of the minute that a time lies in."""
    return F.date_trunc("minute", F.col(time))


def measure_traffic(
    events: DataFrame, clicks: DataFrame, sessions: DataFrame, conversions: DataFrame, windows: DataFrame
) -> DataFrame:
    """Count what the windows hold.

    Args:
        events: silver.events of the windows, at least.
        clicks: the clicks that decide which clicks of the windows count.
        sessions: silver.sessions that hold those events.
        conversions: visitor_id, converted_at, reporting_value of the windows, at least.
        windows: window_start, each once.

    Returns:
        A row for each window that holds anything, and channel of its events' sessions (null: all
        channels): window_start, channel, and the measures of gold.traffic.
    """
    counted = count_clicks(clicks).withColumn("_counts", F.lit(1))
    facts = _event_facts(events.join(counted, "event_id", "left"))
    facts = facts.unionByName(_conversion_facts(conversions), allowMissingColumns=True)
    timed = facts.withColumn("window_start", minute_of("_at"))
    placed = _place(timed.join(F.broadcast(windows), "window_start", "left_semi"), sessions)
    started = sessions.select(
        "visitor_id",
        "channel",
        minute_of("started_at").alias("window_start"),
        F.lit(1).alias("_session"),
    ).join(F.broadcast(windows), "window_start", "left_semi")
    rows = placed.unionByName(started, allowMissingColumns=True)
    sums = (F.sum(fact).alias(fact) for fact in (*_COUNTS.values(), "_value"))
    by_visitor = settle(rows.groupBy("window_start", "channel", "visitor_id").agg(*sums))
    by_channel = by_visitor.where(F.col("channel").isNotNull()).groupBy("window_start", "channel")
    overall = by_visitor.groupBy("window_start").agg(*_measures())
    return overall.withColumn("channel", F.lit(None).cast("string")).unionByName(by_channel.agg(*_measures()))


def _event_facts(events: DataFrame) -> DataFrame:
    in_session = F.col("type").isin("page", "screen", "track")
    return events.select(
        "visitor_id",
        F.col("event_time").alias("_at"),
        in_session.alias("_in_session"),
        F.lit(1).alias("_event"),
        F.col("type").isin("page", "screen").cast("int").alias("_page_view"),
        (F.col("role") == "impression").cast("int").alias("_impression"),
        (F.col("role") == "search").cast("int").alias("_search"),
        F.coalesce("_counts", F.lit(0)).alias("_click"),
    )


def _conversion_facts(conversions: DataFrame) -> DataFrame:
    return conversions.select(
        "visitor_id",
        F.col("converted_at").alias("_at"),
        F.lit(True).alias("_in_session"),
        F.lit(1).alias("_conversion"),
        F.col("reporting_value").alias("_value"),
    )


def _place(facts: DataFrame, sessions: DataFrame) -> DataFrame:
    """Give each fact the channel of the session it lies in; null for what belongs to none."""
    spans = sessions.select(F.col("visitor_id").alias("_who"), "started_at", "ended_at", "channel")
    inside = (
        (F.col("visitor_id") == F.col("_who"))
        & F.col("_in_session")
        & F.col("_at").between(F.col("started_at"), F.col("ended_at"))
    )
    return facts.join(spans, inside, "left").drop("_who", "started_at", "ended_at", "_at", "_in_session")


def _measures() -> list[Column]:
    counts = [F.coalesce(F.sum(fact), F.lit(0)).alias(name) for name, fact in _COUNTS.items()]
    visitors = F.count_distinct("visitor_id").alias("visitors")
    total = F.coalesce(F.sum("_value"), F.lit(0))
    value = total.try_cast("decimal(18,4)").alias("reporting_value")  # null: more than it can hold
    return [*counts, visitors, value]


def revise_windows(measured: DataFrame, published: DataFrame, watermark: datetime) -> DataFrame:
    """Say of each window which pane it is in, and how often it has been revised.

    Args:
        measured: as `measure_traffic` gives it.
        published: gold.traffic rows of the same windows, as they stand.
        watermark: how far the results are complete.

    Returns:
        gold.traffic: `early` before the watermark has passed the window's end, `on_time` at the first
        emission after, `late` for each revision that changes something later.
    """
    before = published.select(
        F.col("window_start").alias("_start"),
        F.col("channel").alias("_channel"),
        F.col("pane").alias("_pane"),
        F.col("revision").alias("_revision"),
        F.struct(*_MEASURES).alias("_before"),
    )
    same = (F.col("window_start") == F.col("_start")) & F.col("channel").eqNullSafe(F.col("_channel"))
    end = F.col("window_start") + F.expr(f"INTERVAL {MINUTE}")
    rows = measured.join(before, same, "left").withColumns(
        {
            "window_kind": F.lit(MINUTE),
            "window_end": end,
            "is_complete": end <= F.lit(watermark),
            "_changed": ~F.struct(*_MEASURES).eqNullSafe(F.col("_before")),
        }
    )
    return rows.withColumns({"pane": _pane(), "revision": _revision()}).drop(
        "_start", "_channel", "_pane", "_revision", "_before", "_changed"
    )


def _pane() -> Column:
    return (
        F.when(~F.col("is_complete"), "early")
        .when(F.coalesce("_pane", F.lit("early")) == "early", "on_time")
        .when(F.col("_changed"), "late")
        .otherwise(F.col("_pane"))
    )


def _revision() -> Column:
    before = F.col("_revision")
    return F.when(before.isNull(), 0).when(F.col("_changed"), before + 1).otherwise(before).cast("int")
