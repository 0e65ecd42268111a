"""Windows by number of events that close now: all their minutes are new."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.windows.count_windows import CountWindows, close_windows
from gold.traffic.new_minutes import Hours
from gold.traffic.window_places import PLACES, Ends, hours_of_windows, place_minutes
from lakehouse.rows.grouped import KEY, GroupedRows, map_groups


def places_in_closing(minutes: DataFrame, sizes: Mapping[str, int], ends: Ends, watermark: int) -> DataFrame:
    """`PLACES` of the minutes of windows that close by the watermark.

    Args:
        minutes: rows with `minute` in microseconds and `events`, from the first of the ends on.
        sizes: minimum number of events in a window, by kind.
        ends: ends of the last windows closed.
        watermark: how far results are complete.
    """
    lasts = (F.struct(F.lit(kind).alias(KEY), F.lit(ends.get(kind, 0)).alias("last")) for kind in sizes)
    totals = minutes.groupBy("minute").agg(F.sum("events").alias("events"))
    since = totals.select(F.inline(F.array(*lasts)), "minute", "events").where("minute >= last")
    fold = partial(_close, sizes=sizes, ends=ends, watermark=watermark)
    return map_groups({"total": since.select(KEY, "minute", "events")}, fold, PLACES)


def closing_ends(places: DataFrame) -> tuple[Ends, Hours]:
    """By kind, the end of the last window that closes, and the hours of all of them.

    The driver gets one row per kind, which is a line of conf/windows.yml.
    """
    found = places.groupBy("window_kind").agg(F.max("window_end"), hours_of_windows()).collect()
    return {kind: last for kind, last, _ in found}, [span for *_, hours in found for span in hours]


def last_ends(differences: DataFrame, kinds: Iterable[str]) -> Ends:
    """By kind, the end of the last window in differences from an empty table: one row per kind."""
    of_kinds = differences.where(F.col("window_kind").isin(*kinds)).groupBy("window_kind")
    return dict(of_kinds.agg(F.unix_micros(F.max("window_end"))).collect())


def _close(
    groups: GroupedRows, sizes: Mapping[str, int], ends: Ends, watermark: int
) -> Iterator[pa.RecordBatch]:
    for kind, totals in groups.rows("total", tuple).items():
        if bounds := close_windows(totals, sizes[kind], ends.get(kind), watermark):
            yield place_minutes(CountWindows(kind, bounds), [minute for minute, _ in totals])
