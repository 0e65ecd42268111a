"""Visitors' minutes: what each did in each minute, and what changes in it."""

from datetime import timedelta
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gold.spans import minute_of

COUNTS = ("events", "page_views", "sessions", "impressions", "clicks", "searches", "conversions")
MEASURES = (*COUNTS, "value")
_CELL = ("visitor_id", "minute", "channel")
_MONEY = "decimal(38,4)"
_QUARTER = timedelta(minutes=15) // timedelta(microseconds=1)


def minutes_of_events(events: DataFrame, sessions: DataFrame, touches: DataFrame) -> DataFrame:
    """What events come to, by visitor and minute.

    Args:
        events: silver.events, whole minutes of them.
        sessions: silver.sessions that hold them.
        touches: gold.touches of them.

    Returns:
        visitor_id, minute, channel (of the session; null without one) and the measures of
        gold.visitor_minutes, those of conversions 0.
    """
    counted = touches.where("kind = 'click'").select("event_id", F.lit(1).alias("_counts"))
    spans = sessions.select(
        F.col("visitor_id").alias("_who"),
        "started_at",
        "ended_at",
        "first_event_id",
        F.col("channel").alias("_channel"),
    )
    held = (
        (F.col("visitor_id") == F.col("_who"))
        & F.col("type").isin("page", "screen", "track")
        & F.col("event_time").between(F.col("started_at"), F.col("ended_at"))
    )
    placed = events.join(counted, "event_id", "left").drop("channel").join(spans, held, "left")
    return _sum_up(
        placed.withColumns({"minute": minute_of("event_time"), "channel": F.col("_channel")}),
        events=F.lit(1),
        page_views=F.col("type").isin("page", "screen"),
        sessions=F.col("event_id") == F.col("first_event_id"),
        impressions=F.col("role") == "impression",
        clicks=F.col("_counts") == 1,
        searches=F.col("role") == "search",
    )


def minutes_of_conversions(conversions: DataFrame) -> DataFrame:
    """What conversions come to, in the same form; of gold.conversions."""
    placed = conversions.withColumns({"minute": minute_of("converted_at"), "channel": F.col("visit.channel")})
    return _sum_up(placed, conversions=F.lit(1), value=F.col("reporting_value"))


def only_conversions(minutes: DataFrame) -> DataFrame:
    """The same minutes, of everything but conversions 0."""
    kept = [F.col(name) if name in ("conversions", "value") else _nothing(name) for name in MEASURES]
    return minutes.select(*_CELL, *kept)


def take_back(minutes: DataFrame) -> DataFrame:
    """The same minutes with the sign of what they count turned."""
    return minutes.select(*_CELL, *((-F.col(name)).alias(name) for name in MEASURES))


def add_up(*parts: DataFrame) -> DataFrame:
    """What minutes come to all told; those that come to nothing are left out."""
    every = reduce(DataFrame.unionByName, (part.select(*_CELL, *MEASURES) for part in parts))
    sums = every.groupBy(*_CELL).agg(*(F.sum(name).alias(name) for name in MEASURES))
    something = reduce(Column.__or__, (F.col(name) != 0 for name in MEASURES))
    return sums.where(something).withColumn("value", F.col("value").cast(_MONEY))


def mark_quarters(*times: DataFrame) -> DataFrame:
    """A row of nobody and nothing for each quarter of an hour in which something else may have changed.

    No shorter, so that they are few; no longer, since days of some time zones begin at a quarter.

    Args:
        times: frames of one column, of times.
    """
    quarters = [rows.select(_quarter_of(F.col(rows.columns[0])).alias("minute")) for rows in times]
    none = F.lit(None).cast("string")
    every = reduce(DataFrame.unionByName, quarters).distinct()
    return every.select(none.alias("visitor_id"), "minute", none.alias("channel"), *map(_nothing, MEASURES))


def _quarter_of(at: Column) -> Column:
    micros = F.unix_micros(at)
    return F.timestamp_micros(micros - F.pmod(micros, F.lit(_QUARTER)))


def _sum_up(placed: DataFrame, **facts: Column) -> DataFrame:
    def total(name: str) -> Column:
        if name not in facts:
            return _nothing(name)
        kind = _MONEY if name == "value" else "bigint"
        return F.coalesce(F.sum(facts[name].cast(kind)), F.lit(0)).cast(kind).alias(name)

    return placed.groupBy(*_CELL).agg(*map(total, MEASURES))


def _nothing(name: str) -> Column:
    return F.lit(0).cast(_MONEY if name == "value" else "bigint").alias(name)
