"""Windows by number of events: those closed before, and those that close now."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.windows.count_windows import CountWindows, close_windows
from lakehouse.contracts.traffic import TRAFFIC, VISITOR_MINUTES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.lookup import Lookup
from lakehouse.rows.driver_or_spark import Rows, Source, on_driver
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.timestamps import to_micros

Ends = Mapping[str, int]
"""By kind, the end of the last closed window, in microseconds."""


class ClosedWindows:
    """Closed windows by number of events, read from gold.traffic.

    Args:
        lake: the tables.
        sizes: events per window, by kind.
        ends: ends of the last windows closed so far.
    """

    def __init__(self, lake: Lakehouse, sizes: Mapping[str, int], ends: Ends) -> None:
        self._lake = lake
        self._sizes = sizes
        self.ends = ends

    def covering(self, source: Source, earliest: int | None) -> list[CountWindows]:
        """The closed windows that may contain minutes from a time on.

        A window that lost all its events has no row. Its span is then the gap between its neighbours, or
        between the one before it and the end of the last window closed.
        """
        if earliest is None or earliest >= max(self.ends.values(), default=0):
            return []
        bounds = self._bounds(source, earliest + 1)
        if any(min(found) > earliest for found in bounds.values()):
            bounds = self._bounds(source, 1)  # in a window without a row, or before the first window
        return [CountWindows(kind, tuple(sorted(found)), has_earlier=True) for kind, found in bounds.items()]

    def _bounds(self, source: Source, first_end: int) -> dict[str, set[int]]:
        """By kind, starts and ends of windows that end at a time or later."""
        columns = ("window_kind", "window_start", "window_end")
        near = TimePruner.of_spans([(first_end, max(self.ends.values()))])
        rows = on_driver(source.look_up(TRAFFIC.name, Lookup(columns, near, "window_end")))
        starts, ends = (_micros(rows[name]) for name in columns[1:])
        bounds: dict[str, set[int]] = defaultdict(set)
        for kind, start, end in zip(rows["window_kind"].to_pylist(), starts, ends, strict=True):
            if kind in self.ends:
                bounds[kind] |= {start, end}
        for kind, end in self.ends.items():
            if end >= first_end:
                bounds[kind].add(end)
        return bounds

    def close(self, source: Source, watermark: int) -> list[CountWindows]:
        """The windows that close now; updates `ends`."""
        found = []
        for kind, size in self._sizes.items():
            last = self.ends.get(kind)
            near = TimePruner.of_spans([(last or 0, watermark)])
            wanted = Lookup(("visitor_id", "minute", "events"), near, "minute")
            totals = minute_totals(source.look_up(VISITOR_MINUTES.name, wanted), last or 0)
            if bounds := close_windows(totals, size, last, watermark):
                found.append(CountWindows(kind, bounds))
        self.ends = {**self.ends, **{windows.kind: windows.bounds[-1] for windows in found}}
        return found

    def close_all(self, minutes: DataFrame, watermark: int) -> list[CountWindows]:
        """The closed windows of all minutes, independent of windows closed before."""
        totals = minute_totals(minutes, 0) if self._sizes else []
        closed = {kind: close_windows(totals, size, None, watermark) for kind, size in self._sizes.items()}
        return [CountWindows(kind, bounds) for kind, bounds in closed.items() if bounds]


def minute_totals(rows: Rows, earliest: int) -> list[tuple[int, int]]:
    """Number of events per minute, from a time on, in rows of gold.visitor_minutes."""
    if isinstance(rows, DataFrame):
        sums = rows.where("visitor_id IS NOT NULL").groupBy("minute").agg(F.sum("events").alias("events"))
        found = [(to_micros(row.minute), row.events) for row in sums.collect()]
    else:
        theirs = rows.filter(pc.is_valid(rows["visitor_id"]))
        table = theirs.group_by("minute").aggregate([("events", "sum")])
        found = list(zip(_micros(table["minute"]), table["events_sum"].to_pylist(), strict=True))
    return [(minute, events) for minute, events in found if minute >= earliest]


def last_ends(differences: DataFrame, kinds: Sequence[str]) -> Ends:
    """By kind, the end of the last window in differences from an empty table."""
    if not kinds:
        return {}
    rows = differences.where(F.col("window_kind").isin(*kinds)).groupBy("window_kind")
    return {
        row.window_kind: to_micros(row.end) for row in rows.agg(F.max("window_end").alias("end")).collect()
    }


def _micros(column: pa.ChunkedArray) -> list[int]:
    found: list[int] = column.cast(pa.int64()).to_pylist()
    return found
