"""Spans: the stretches of a visitor's time that a moment bears on.

Nothing of a session hangs on what is outside it: which of its clicks count, what was seen before a click, its
channel. So what changes with an event can change in the whole minutes of the session around it only.
"""

from datetime import timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.intervals import covered, intervals, overlapping, slots_of

MINUTE = timedelta(minutes=1)


def minute_of(time: str) -> Column:
    """Start of the minute that a time lies in."""
    return F.date_trunc("minute", F.col(time))


def widen(moments: DataFrame, sessions: DataFrame) -> DataFrame:
    """Spans of some moments.

    Args:
        moments: visitor_id and at.
        sessions: silver.sessions, those that share a minute with one of the moments at least.

    Returns:
        visitor_id, low (included) and high (excluded), each span once.
    """
    minutes = moments.select("visitor_id", minute_of("at").alias("_minute")).distinct()
    around = sessions.select(F.col("visitor_id").alias("_who"), "started_at", "ended_at")
    shared = (
        (F.col("visitor_id") == F.col("_who"))
        & (F.col("started_at") < F.col("_minute") + F.lit(MINUTE))
        & (F.col("ended_at") >= F.col("_minute"))
    )
    first, last = F.least("_minute", minute_of("started_at")), F.greatest("_minute", minute_of("ended_at"))
    found = minutes.join(around, shared, "left").select(
        "visitor_id", first.alias("low"), (last + F.lit(MINUTE)).alias("high")
    )
    return found.distinct()


def inside(rows: DataFrame, time: str, spans: DataFrame, how: str = "left_semi") -> DataFrame:
    """The rows of visitors that lie in one of their spans; with `left_anti`, the others."""
    return rows.alias("r").join(F.broadcast(spans).alias("s"), _holds(f"r.{time}"), how)


def _holds(time: str) -> Column:
    at = F.col(time)
    return (F.col("r.visitor_id") == F.col("s.visitor_id")) & (at >= F.col("s.low")) & (at < F.col("s.high"))


class Stretch:
    """The slots of time that some spans lie in, for leaving out the files of others.

    Args:
        rows: moments, or spans.
        start: the column that says when they are, or begin.
        end: the one that says when they end.
        margin: how far around them to look.
        slot: length of a slot: the longer the spans, the longer.
    """

    def __init__(
        self,
        rows: DataFrame,
        start: str,
        end: str | None = None,
        margin: timedelta = MINUTE,
        slot: timedelta = MINUTE,
    ) -> None:
        slots = rows.agg(slots_of(F.col(start), F.col(end) if end else None, slot)).collect()[0][0]
        self._intervals = intervals(slots, margin, slot)

    def holds(self, time: str) -> Column:
        """The condition that a time lies in it."""
        return covered(time, self._intervals)

    def meets(self, start: str, end: str) -> Column:
        """The condition that a stretch from start to end, both included, shares a moment with it."""
        return overlapping(start, end, self._intervals)
