"""New rows of gold.visitor_minutes, and the rows that may share a window with them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gold.traffic.differences import MINUTE
from lakehouse.contracts.traffic import VISITOR_MINUTES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.checkpointing import checkpoint_with
from lakehouse.rows.semi_join import within_spans
from lakehouse.rows.time_pruner import TimePruner, hours_between
from lakehouse.timestamps import span_micros

LONGEST_TIMED_WINDOW = timedelta(hours=26)
"""At least the longest window by time: 25 hours, for a day on which clocks go back, and a margin."""

_MAX_BROADCAST_ROWS = 1_000_000

Hours = Sequence[Sequence[int]]
"""Spans of whole hours, see `lakehouse.rows.time_pruner.hours_between`."""


@dataclass(frozen=True)
class NewMinutes:
    """Rows of gold.visitor_minutes that windows do not contain yet.

    Args:
        rows: `visitor_id`, and `minute` in microseconds. Checkpointed.
        count: number of rows.
        earliest: the first minute.
        hours: hours that contain the minutes.
    """

    rows: DataFrame
    count: int
    earliest: int
    hours: Hours

    def sharing_windows(self, minutes: DataFrame, places: DataFrame | None) -> DataFrame:
        """Rows of minutes that may share a window with a new one of the same visitor.

        Above `_MAX_BROADCAST_ROWS` new minutes, all minutes of their visitors.

        Args:
            minutes: rows with `visitor_id` and `minute`, a timestamp.
            places: of the new minutes in windows by number of events, see `gold.traffic.closed_windows`.
        """
        if self.count > _MAX_BROADCAST_ROWS:
            return minutes.join(self.rows.select("visitor_id"), "visitor_id", "left_semi")
        margin = span_micros(LONGEST_TIMED_WINDOW)
        low, high = F.col("minute") - margin, F.col("minute") + margin
        spans = self.rows.select("visitor_id", low.alias("low"), high.alias("high"))
        if places is not None:
            closed = self.rows.join(places, "minute")
            spans = spans.union(closed.select("visitor_id", "window_start", "window_end"))
        by_visitor = spans.groupBy("visitor_id").agg(F.min("low").alias("low"), F.max("high").alias("high"))
        return within_spans(minutes, by_visitor, "visitor_id", "minute")


def find_new_minutes(lake: Lakehouse, known: int) -> NewMinutes | None:
    """The rows above a sequence; None if there are none."""
    above = read_minutes(lake).where(F.col("sequence") > known)
    minute = F.col("minute")
    rows, found = checkpoint_with(
        in_micros(above).select("visitor_id", "minute"),
        count=F.count(F.lit(1)),
        earliest=F.min(minute),
        hours=hours_between(minute, minute),
    )
    return NewMinutes(rows, **found) if found["count"] else None


def read_minutes(lake: Lakehouse, near: TimePruner | None = None) -> DataFrame:
    """`MINUTE` of rows that have a visitor: those in time ranges, or all."""
    rows = lake.read(VISITOR_MINUTES.name).where(F.col("visitor_id").isNotNull())
    return (rows if near is None else rows.where(near.contains("minute"))).select(*MINUTE)


def in_micros(minutes: DataFrame) -> DataFrame:
    """Rows with `minute` in microseconds."""
    return minutes.withColumn("minute", F.unix_micros("minute"))
