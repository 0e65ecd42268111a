"""Differences: how visitors' new minutes change the sums of their windows, as frames."""

from collections.abc import Iterator, Sequence
from functools import partial, reduce
from itertools import chain

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.windows.differences import window_differences as fold_differences
from folds.windows.minutes import Minute, Place, placed_windows
from folds.windows.revisions import Sums, WindowKey
from folds.windows.time_windows import Windows
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.traffic import TRAFFIC
from lakehouse.rows.arrow_frames import transpose
from lakehouse.rows.grouped import GroupedRows, map_groups, with_key

_ADDED = ("page_views", "sessions", "impressions", "clicks", "searches", "conversions", "value")
MINUTE = ("visitor_id", "minute", "channel", "sequence", "by_events", "events", *_ADDED)
"""Columns of gold.visitor_minutes that windows are computed from."""

_TRAFFIC = arrow_schema(TRAFFIC)
_CAUSES = Sums._fields[-2:]
DIFFERENCES = pa.schema(
    [_TRAFFIC.field(name) for name in (*WindowKey._fields, *Sums._fields[: -len(_CAUSES)])]
    + [pa.field(name, pa.int64()) for name in _CAUSES]
)
"""Differences of windows: the new sums of a window are its old sums plus all its differences."""

_NO_PLACES = "CAST(NULL AS ARRAY<STRUCT<window_kind: STRING, window_start: BIGINT, window_end: BIGINT>>)"


def window_differences(minutes: DataFrame, windows: Sequence[Windows], known: int) -> DataFrame:
    """`DIFFERENCES` that new minutes make: a fold by visitor, whose results are summed by window.

    Args:
        minutes: `MINUTE` with the minute in microseconds, and optionally `places`, the windows by number of
            events that contain it, as `folds.windows.minutes.Place`; of visitors with new minutes, all
            that share a window with a new one.
        windows: by time, of all kinds.
        known: minutes with a sequence above it are new.
    """
    is_new = F.col("sequence") > known
    made = {
        "is_new": is_new,
        "by_events": F.coalesce("by_events", F.lit(True)),
        **{name: F.when(is_new, F.col(name)) for name in _ADDED},
    }
    given = minutes if "places" in minutes.columns else minutes.withColumn("places", F.expr(_NO_PLACES))
    rows = with_key(given.withColumns(made), "visitor_id", Minute._fields)
    parts = map_groups({"minute": rows}, partial(_fold, windows=tuple(windows)), DIFFERENCES)
    sums = (F.sum(name).cast(_sql_type(name)).alias(name) for name in Sums._fields)
    is_change = reduce(lambda one, other: one | other, (F.col(name) != 0 for name in Sums._fields))
    return parts.groupBy(*WindowKey._fields).agg(*sums).where(is_change)


def _sql_type(name: str) -> str:
    return "decimal(38,4)" if name == "value" else "bigint"


def _fold(groups: GroupedRows, windows: tuple[Windows, ...]) -> Iterator[pa.RecordBatch]:
    by_visitor = groups.rows("minute", Minute, places=Place)
    placed = placed_windows(chain.from_iterable(by_visitor.values()))
    found = fold_differences(by_visitor, (*windows, *placed))
    rows = [(*key, *sums) for key, sums in found.items()]
    yield pa.RecordBatch.from_arrays(transpose(rows, list(DIFFERENCES)), schema=DIFFERENCES)
