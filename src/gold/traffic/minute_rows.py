"""Rows of gold.visitor_minutes and gold.traffic, on the driver or in Spark."""

from collections.abc import Iterable
from datetime import timedelta
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.windows.count_windows import CountWindows
from lakehouse.rows.driver_or_spark import Rows
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.timestamps import to_micros

LONGEST_TIMED_WINDOW = timedelta(hours=26)
"""At least the longest window by time: 25 hours, for a day on which clocks go back, and a margin."""


def longest_span(counted: Iterable[CountWindows]) -> timedelta:
    """Length of the longest window, by time or by number of events: minutes further apart share no window.

    Args:
        counted: windows by number of events, with their bounds in microseconds.
    """
    lengths = [end - start for each in counted for start, end in pairwise(each.bounds)]
    return max(LONGEST_TIMED_WINDOW, timedelta(microseconds=max(lengths, default=0)))


def earliest_minute(rows: Rows) -> int | None:
    """The first minute of rows of gold.visitor_minutes."""
    if isinstance(rows, DataFrame):
        first = rows.where("visitor_id IS NOT NULL").agg(F.min("minute")).first()
        return None if first is None or first[0] is None else to_micros(first[0])
    minute = pc.min(of_visitors(rows)["minute"].cast(pa.int64())).as_py()
    return None if minute is None else int(minute)


def of_visitors(rows: Rows) -> Rows:
    """Rows that have a visitor."""
    if isinstance(rows, DataFrame):
        return rows.where("visitor_id IS NOT NULL")
    return rows.filter(pc.is_valid(rows["visitor_id"]))


def pruner_of(rows: Rows, time: str, margin: timedelta) -> TimePruner:
    """A pruner around the times of rows."""
    if isinstance(rows, DataFrame):
        return TimePruner.of_rows(rows, time, margin)
    times = pc.unique(rows[time]).cast(pa.int64()).to_pylist()
    return TimePruner.of_spans(((at, at) for at in times), margin)
