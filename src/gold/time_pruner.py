"""Conditions on times by which files without rows of interest are left out."""

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.instants import from_micros, to_micros
from lakehouse.intervals import Interval, covered, intervals, join_spans, overlapping, slots_of

MINUTE = timedelta(minutes=1)
_LAST = to_micros(datetime.max.replace(tzinfo=timezone.utc))


class TimePruner:
    """Intervals of time outside of which nothing is of interest.

    Args:
        within: the intervals.
    """

    def __init__(self, within: list[Interval]) -> None:
        self._intervals = within

    @classmethod
    def of_spans(cls, spans: Iterable[tuple[int, int]], margin: timedelta = timedelta(0)) -> "TimePruner":
        """Around some spans.

        Args:
            spans: start and end, both included, in microseconds.
            margin: how far around them rows are of interest, too.
        """
        around = margin // timedelta(microseconds=1)
        joined = join_spans((low - around, high + around) for low, high in spans)
        return cls([(from_micros(low), from_micros(min(high, _LAST))) for low, high in joined])

    @classmethod
    def of_rows(cls, rows: DataFrame, time: str, margin: timedelta = MINUTE) -> "TimePruner":
        """Around the times of some rows; runs a Spark job."""
        slots = rows.agg(slots_of(F.col(time), length=MINUTE)).collect()[0][0]
        return cls(intervals(slots, margin, MINUTE))

    def contains(self, time: str) -> Column:
        """The condition that a time may lie in one of the intervals."""
        return covered(time, self._intervals)

    def overlaps(self, start: str, end: str) -> Column:
        """The condition that a stretch from start to end, both included, may meet one of the intervals."""
        return overlapping(start, end, self._intervals)
