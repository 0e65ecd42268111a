"""Sessions: fragments of a visit that are joined wherever they come within the gap.

An event is the smallest fragment, a session the largest; joining is associative, so it does not matter
in which order, or in which batches, events arrive.
"""

from datetime import datetime

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from lakehouse.contracts.silver import SESSIONS
from silver.rules.sessions import GAP, GAP_MICROS, PAGE_VIEWS, TYPES

_FRAGMENT = tuple(name for name in SESSIONS.column_names if name not in ("session_id", "is_open"))
_ENTRY = (
    "entry_url", "entry_referrer", "campaign_source", "campaign_medium", "campaign_name", "channel",
    "rules_version",
)  # fmt: skip


def to_fragments(events: DataFrame) -> DataFrame:
    """Each page, screen and track event as a session of its own."""
    return events.where(F.col("type").isin(*TYPES)).select(
        "visitor_id",
        F.col("event_time").alias("started_at"),
        F.col("event_time").alias("ended_at"),
        F.lit(1).cast("bigint").alias("events"),
        F.col("type").isin(*PAGE_VIEWS).cast("bigint").alias("page_views"),
        F.col("url").alias("entry_url"),
        F.col("url").alias("exit_url"),
        F.col("referrer").alias("entry_referrer"),
        "campaign_source",
        "campaign_medium",
        "campaign_name",
        "channel",
        "rules_version",
        F.col("event_id").alias("first_event_id"),
        F.col("event_id").alias("last_event_id"),
    )


def fragments_of(sessions: DataFrame) -> DataFrame:
    """Sessions as fragments."""
    return sessions.select(*_FRAGMENT)


def join_fragments(fragments: DataFrame) -> DataFrame:
    """Join each visitor's fragments that come within the gap of one another.

    Args:
        fragments: events as fragments, and sessions, in any mixture; no event in two of them.

    Returns:
        silver.sessions without `is_open`, one row a session.
    """
    in_order = Window.partitionBy("visitor_id").orderBy("started_at", "ended_at", "first_event_id")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    quiet = F.unix_micros("started_at") - F.unix_micros(F.max("ended_at").over(before))
    starts = F.coalesce((quiet >= GAP_MICROS).cast("int"), F.lit(1))
    numbered = fragments.select(*_FRAGMENT).withColumn("_starts", starts)
    numbered = numbered.withColumn("_number", F.sum("_starts").over(in_order))
    first = F.min(F.struct("started_at", "first_event_id", *_ENTRY))
    last = F.max(F.struct("ended_at", "last_event_id", "exit_url"))
    joined = numbered.groupBy("visitor_id", "_number").agg(
        first.alias("_first"),
        last.alias("_last"),
        F.sum("events").alias("events"),
        F.sum("page_views").alias("page_views"),
    )
    return joined.select("visitor_id", "events", "page_views", "_first.*", "_last.*").withColumn(
        "session_id", session_id(F.col("visitor_id"), F.col("started_at"))
    )


def session_id(visitor: Column, started_at: Column) -> Column:
    """Derived from visitor and start, so that it is the same wherever it is computed."""
    return F.left(F.sha2(F.concat_ws("|", F.unix_micros(started_at), visitor), 256), F.lit(32))


def mark_open(sessions: DataFrame, watermark: datetime) -> DataFrame:
    """Say which sessions may still grow: the watermark has not passed their last event by the gap."""
    over = F.unix_micros("ended_at") + GAP_MICROS <= F.unix_micros(F.lit(watermark))
    return sessions.withColumn("is_open", ~over)


def touched_sessions(sessions: DataFrame, fragments: DataFrame, low: datetime, high: datetime) -> DataFrame:
    """The sessions that some fragment of the same visitor comes within the gap of.

    Args:
        sessions: silver.sessions.
        fragments: late events as fragments.
        low: time of the first of them; with `high`, it prunes files.
        high: time of the last.
    """
    late = fragments.select("visitor_id", F.col("started_at").alias("late_at"))
    near = (
        (F.col("s.visitor_id") == F.col("f.visitor_id"))
        & (F.unix_micros("f.late_at") < F.unix_micros("s.ended_at") + GAP_MICROS)
        & (F.unix_micros("f.late_at") > F.unix_micros("s.started_at") - GAP_MICROS)
    )
    around = (F.col("started_at") <= F.lit(high + GAP)) & (F.col("ended_at") >= F.lit(low - GAP))
    return sessions.where(around).alias("s").join(F.broadcast(late).alias("f"), near, "left_semi")
