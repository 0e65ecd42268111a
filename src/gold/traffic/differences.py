"""Differences: how visitors' new minutes change the sums of their windows, as one SQL query."""

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.windows.revisions import Sums, WindowKey
from folds.windows.time_windows import Windows
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.traffic import TRAFFIC
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.driver_or_spark import Rows, as_frame, local_rows
from lakehouse.rows.sql import run_sql

ADDED = ("events", "page_views", "sessions", "impressions", "clicks", "searches", "conversions", "value")
"""Measures that are additive over minutes; distinct visitors are not."""

MINUTE = ("visitor_id", "minute", "channel", "sequence", "by_events", *ADDED)
"""Columns of gold.visitor_minutes that windows are computed from."""

_TRAFFIC = arrow_schema(TRAFFIC)

DIFFERENCES = pa.schema(
    [_TRAFFIC.field(name) for name in (*WindowKey._fields, *Sums._fields[:-2])]
    + [pa.field(name, pa.int64()) for name in Sums._fields[-2:]]
)
"""Differences of windows: the new sums of a window are its old sums plus all its differences."""

_BUCKETS = (
    pa.field("window_kind", pa.string()),
    pa.field("minute", pa.int64()),
    pa.field("bucket", pa.int64()),
    pa.field("width", pa.int64()),
)
_SHIFTS = (pa.field("window_kind", pa.string()), pa.field("shift", pa.int64()))
_TIMES = ("window_start", "window_end")
_INPUTS = ", ".join(f"SUM({name}) AS {name}" for name in (*ADDED, "by_events", "new_events"))
_OUTPUTS = ", ".join(
    f"CAST(SUM({name}) AS {'DECIMAL(38, 4)' if name == 'value' else 'BIGINT'}) AS {name}"
    for name in Sums._fields
)
_NOTHING = ", ".join("CAST(0 AS DECIMAL(38, 4))" if name == "value" else "0" for name in ADDED)
_ANY = " OR ".join(f"{name} <> 0" for name in Sums._fields)


def window_differences(minutes: Rows, windows: Iterable[Windows], known: int) -> Rows:
    """Compute the differences caused by new minutes, as `DIFFERENCES`.

    A window gains a visitor if the new minutes bring the visitor's first events in it. It loses the visitor
    if they remove the last ones. So each visitor is counted once per window, however minutes are batched.

    Args:
        minutes: `MINUTE` of visitors with new minutes: all minutes that share a window with a new one.
        windows: of all kinds.
        known: minutes with a sequence above it are new.
    """
    minutes = _with_micros(minutes)
    buckets, shifts = _places(_distinct_minutes(minutes), windows)
    inputs = {"minutes": minutes, "buckets": buckets, "shifts": shifts}
    if isinstance(minutes, DataFrame):
        inputs = {name: as_frame(minutes.sparkSession, rows) for name, rows in inputs.items()}
    found = run_sql(lambda _: _query(known), inputs)
    if isinstance(found, DataFrame):
        times = {name: F.timestamp_micros(name) for name in _TIMES}
        return found.withColumns(times).select(DIFFERENCES.names)
    return found.select(DIFFERENCES.names).cast(DIFFERENCES)


def _places(minutes: Iterable[int], windows: Iterable[Windows]) -> tuple[pa.Table, pa.Table]:
    """The buckets of minutes; and by kind, how long before a bucket the windows with it start."""
    buckets: list[tuple[str, int, int, int]] = []
    shifts: set[tuple[str, int]] = set()
    minutes = list(minutes)
    for kind in windows:
        spans = {bucket: kind.spans_of(bucket) for bucket in set(map(kind.bucket_of, minutes))}
        for minute in minutes:
            bucket = kind.bucket_of(minute)
            if found := spans[bucket]:
                buckets.append((kind.kind, minute, bucket, found[0][1] - bucket))
        shifts |= {(kind.kind, bucket - start) for bucket, found in spans.items() for start, _ in found}
    return local_rows(_BUCKETS, buckets), local_rows(_SHIFTS, sorted(shifts))


def _distinct_minutes(minutes: Rows) -> Sequence[int]:
    if isinstance(minutes, DataFrame):
        return [row.minute for row in minutes.select("minute").distinct().collect()]
    found: list[int] = pc.unique(minutes["minute"]).to_pylist()
    return found


def _with_micros(minutes: Rows) -> Rows:
    """The minutes, in microseconds; a frame is checkpointed, since several queries read it."""
    if isinstance(minutes, DataFrame):
        return checkpoint(minutes.select(*MINUTE).withColumn("minute", F.unix_micros("minute")))
    rows = minutes.select(list(MINUTE))
    return rows.set_column(MINUTE.index("minute"), "minute", rows["minute"].cast(pa.int64()))


def _query(known: int) -> str:
    """The query; rows with channel null are of all channels."""
    return f"""
WITH rows_of_all AS (
  SELECT visitor_id, minute, channel, {", ".join(ADDED)}, sequence > {known} AS is_new,
    CASE WHEN COALESCE(by_events, TRUE) THEN 1 ELSE 0 END AS by_events,
    CASE WHEN COALESCE(by_events, TRUE) THEN events ELSE 0 END AS new_events
  FROM {{minutes}}
), rows_by_channel AS (
  SELECT * FROM rows_of_all WHERE channel IS NOT NULL
  UNION ALL
  SELECT visitor_id, minute, CAST(NULL AS STRING) AS channel, {", ".join(ADDED)}, is_new, by_events,
    new_events
  FROM rows_of_all
), new_by_minute AS (
  SELECT minute, channel, {_INPUTS} FROM rows_by_channel WHERE is_new GROUP BY minute, channel
), new_by_bucket AS (
  SELECT window_kind, bucket, width, channel, {_INPUTS}
  FROM new_by_minute JOIN {{buckets}} USING (minute) GROUP BY window_kind, bucket, width, channel
), visitor_buckets AS (
  SELECT visitor_id, window_kind, bucket, width, channel,
    SUM(CASE WHEN is_new THEN 0 ELSE events END) AS before_events, SUM(events) AS after_events,
    MAX(CASE WHEN is_new THEN 1 ELSE 0 END) AS is_new
  FROM rows_by_channel JOIN {{buckets}} USING (minute)
  GROUP BY visitor_id, window_kind, bucket, width, channel
), visitor_windows AS (
  SELECT window_kind, bucket - shift AS window_start, bucket - shift + width AS window_end, channel,
    SUM(before_events) > 0 AS was_there, SUM(after_events) > 0 AS is_there
  FROM visitor_buckets JOIN {{shifts}} USING (window_kind)
  GROUP BY visitor_id, window_kind, bucket - shift, width, channel
  HAVING MAX(is_new) = 1
), differences AS (
  SELECT window_kind, bucket - shift AS window_start, bucket - shift + width AS window_end, channel,
    {", ".join(ADDED)}, by_events, new_events, 0 AS visitors
  FROM new_by_bucket JOIN {{shifts}} USING (window_kind)
  UNION ALL
  SELECT window_kind, window_start, window_end, channel, {_NOTHING}, 0, 0,
    CASE WHEN is_there THEN 1 ELSE -1 END AS visitors
  FROM visitor_windows WHERE is_there <> was_there
), sums AS (
  SELECT {", ".join(WindowKey._fields)}, {_OUTPUTS} FROM differences GROUP BY {", ".join(WindowKey._fields)}
)
SELECT * FROM sums WHERE {_ANY}"""
