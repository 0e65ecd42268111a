"""Places: which windows by number of events contain a minute.

The minutes of a kind of window are folded in one task, in order of time: one row per minute and kind, never
one per visitor.
"""

from collections.abc import Iterable, Mapping

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from folds.windows.count_windows import CountWindows
from folds.windows.minutes import Place
from lakehouse.rows.arrow_frames import transpose
from lakehouse.rows.time_pruner import hours_between

Ends = Mapping[str, int]
"""By kind, the end of the last closed window, in microseconds."""

PLACES = pa.schema(
    [
        pa.field("minute", pa.int64()),
        pa.field("window_kind", pa.string()),
        pa.field("window_start", pa.int64()),
        pa.field("window_end", pa.int64()),
    ]
)
"""A minute, and a window that contains it; in microseconds."""


def place_minutes(windows: CountWindows, minutes: Iterable[int]) -> pa.RecordBatch:
    """`PLACES` of the minutes that are in one of the windows."""
    buckets = ((minute, windows.bucket_of(minute)) for minute in minutes)
    rows = [
        (minute, windows.kind, start, end)
        for minute, bucket in buckets
        for start, end in windows.spans_of(bucket)
    ]
    return pa.RecordBatch.from_arrays(transpose(rows, list(PLACES)), schema=PLACES)


def with_places(minutes: DataFrame, places: DataFrame, how: str = "left") -> DataFrame:
    """Rows of minutes with `places`, the windows that contain them.

    Args:
        minutes: rows with `minute` in microseconds.
        places: `PLACES`.
        how: `inner` to leave out minutes in no window.
    """
    window = F.struct(*Place._fields)
    by_minute = places.groupBy("minute").agg(F.collect_list(window).alias("places"))
    return minutes.join(by_minute, "minute", how)


def hours_of_windows() -> Column:
    """An aggregate of `PLACES`: the hours that contain the windows."""
    return hours_between(F.col("window_start"), F.col("window_end") - 1)
