"""Windows by number of events that were closed before, and contain new minutes."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.windows.count_windows import CountWindows
from gold.traffic.new_minutes import Hours, NewMinutes
from gold.traffic.window_places import PLACES, Ends, hours_of_windows, place_minutes
from lakehouse.contracts.traffic import TRAFFIC
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.checkpointing import checkpoint, checkpoint_with
from lakehouse.rows.grouped import KEY, GroupedRows, map_groups, with_key
from lakehouse.rows.time_pruner import TimePruner


class ClosedBounds:
    """Bounds of closed windows, read from gold.traffic.

    A window that lost all its events has no row. Its span is then the gap between its neighbours, or between
    the one before it and the end of the last window closed.

    Args:
        lake: the tables.
        ends: ends of the last windows closed.
        first_end: windows that end before it are left out.
    """

    def __init__(self, lake: Lakehouse, ends: Ends, first_end: int) -> None:
        self._ends = {kind: end for kind, end in ends.items() if end >= first_end}
        near = TimePruner.of_spans([(first_end, max(ends.values()))])
        rows = lake.read(TRAFFIC.name).where(near.contains("window_end"))
        times = F.array(F.unix_micros("window_start"), F.unix_micros("window_end"))
        of_kinds = rows.where(F.col("window_kind").isin(*self._ends))
        self._bounds = checkpoint(of_kinds.select("window_kind", F.explode(times).alias("bound")).distinct())

    def places(self, minutes: DataFrame) -> DataFrame:
        """`PLACES` of the distinct minutes that are in a closed window."""
        kinds = F.explode(F.array(*map(F.lit, self._ends))).alias(KEY)
        by_kind = {
            "bound": with_key(self._bounds, "window_kind", ("bound",)),
            "minute": minutes.select("minute").distinct().select(kinds, "minute"),
        }
        return map_groups(by_kind, partial(_place, ends=self._ends), PLACES)


@dataclass(frozen=True)
class ClosedWindows:
    """Closed windows that contain new minutes.

    Args:
        bounds: of these and further windows.
        places: `PLACES` of the new minutes. Checkpointed.
        hours: hours that contain these windows.
    """

    bounds: ClosedBounds
    places: DataFrame
    hours: Hours


def find_closed_windows(lake: Lakehouse, ends: Ends, new: NewMinutes) -> ClosedWindows | None:
    """The closed windows that contain new minutes.

    None if no window is closed, or if all new minutes are after the last closed windows.
    """
    if not ends or new.earliest >= max(ends.values()):
        return None
    first, found = _find(lake, ends, new, new.earliest + 1)
    if first == 0:  # in a window without a row, or before the first window
        _, found = _find(lake, ends, new, 1)
    return found


def _find(lake: Lakehouse, ends: Ends, new: NewMinutes, first_end: int) -> tuple[int | None, ClosedWindows]:
    bounds = ClosedBounds(lake, ends, first_end)
    places, found = checkpoint_with(
        bounds.places(new.rows), first=F.min("window_start"), hours=hours_of_windows()
    )
    return found["first"], ClosedWindows(bounds, places, found["hours"])


def _place(groups: GroupedRows, ends: Ends) -> Iterator[pa.RecordBatch]:
    bounds = groups.rows("bound", int)
    for kind, minutes in groups.rows("minute", int).items():
        both = sorted({*bounds.get(kind, ()), ends[kind]})
        yield place_minutes(CountWindows(kind, tuple(both), has_earlier=True), minutes)
