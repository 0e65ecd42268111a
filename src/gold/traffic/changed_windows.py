"""Differences of the windows that an update changes."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.windows.time_windows import Windows
from gold.traffic.closed_windows import find_closed_windows
from gold.traffic.closing_windows import closing_ends, places_in_closing
from gold.traffic.differences import window_differences
from gold.traffic.new_minutes import (
    LONGEST_TIMED_WINDOW,
    Hours,
    find_new_minutes,
    in_micros,
    read_minutes,
)
from gold.traffic.window_places import Ends, with_places
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.time_pruner import TimePruner

ALL = -1
"""A sequence below that of every minute: all minutes are new."""


class ChangedWindows(NamedTuple):
    """Windows that an update changes.

    Args:
        differences: `gold.traffic.differences.DIFFERENCES`.
        hours: hours that contain the new minutes, and the windows by number of events.
    """

    differences: DataFrame
    hours: Hours


def changed_by_minutes(
    lake: Lakehouse, windows: Sequence[Windows], ends: Ends, known: int
) -> ChangedWindows | None:
    """Windows by time, and windows closed before, that contain new minutes.

    Args:
        lake: the tables.
        windows: by time, of all kinds.
        ends: ends of the last windows by number of events that were closed before.
        known: minutes with a sequence above it are new.
    """
    new = find_new_minutes(lake, known)
    if new is None:
        return None
    closed = find_closed_windows(lake, ends, new)
    hours, places = ([*new.hours, *closed.hours], closed.places) if closed else (new.hours, None)
    minutes = in_micros(new.sharing_windows(read_minutes(lake, near(hours)), places))
    if closed:
        minutes = checkpoint(minutes)
        minutes = with_places(minutes, closed.bounds.places(minutes))
    return ChangedWindows(window_differences(minutes, windows, known), hours)


def changed_by_closing(
    lake: Lakehouse, sizes: Mapping[str, int], ends: Ends, watermark: int
) -> tuple[ChangedWindows | None, Ends]:
    """Windows by number of events that close now, whose minutes all count as new; and the ends after that.

    Args:
        lake: the tables.
        sizes: minimum number of events in a window, by kind.
        ends: ends of the last windows closed.
        watermark: how far results are complete, in microseconds.
    """
    if not sizes:
        return None, ends
    first = min(ends.get(kind, 0) for kind in sizes)
    since = in_micros(read_minutes(lake, TimePruner.of_spans([(first, watermark)])))
    places = checkpoint(places_in_closing(since, sizes, ends, watermark))
    closing, hours = closing_ends(places)
    if not closing:
        return None, ends
    minutes = with_places(in_micros(read_minutes(lake, TimePruner.of_hours(hours))), places, "inner")
    return ChangedWindows(window_differences(minutes, (), ALL), hours), {**ends, **closing}


def all_windows(
    lake: Lakehouse, windows: Sequence[Windows], sizes: Mapping[str, int], watermark: int, known: int
) -> DataFrame:
    """All minutes as differences from an empty table; see `changed_by_closing`.

    Args:
        lake: the tables.
        windows: by time, of all kinds.
        sizes: minimum number of events in a window, by kind.
        watermark: how far results are complete, in microseconds.
        known: only minutes with a sequence above it count as changed by events: the others are in the rows
            that are replaced.
    """
    is_unknown = F.col("sequence") > known
    minutes = in_micros(read_minutes(lake)).withColumn("by_events", F.col("by_events") & is_unknown)
    if sizes:
        minutes = with_places(minutes, places_in_closing(minutes, sizes, {}, watermark))
    return window_differences(minutes, windows, ALL)


def near(hours: Hours) -> TimePruner:
    """Time ranges that contain all minutes, and all starts, of the windows that contain some minutes."""
    return TimePruner.of_hours(hours, LONGEST_TIMED_WINDOW)
