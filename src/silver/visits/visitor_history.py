"""Reads the rows of sessions, impressions and searches that a batch may change."""

from datetime import datetime
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.rule_numbers import RuleNumbers
from lakehouse.contracts.exposures import IMPRESSIONS, SEARCHES
from lakehouse.contracts.silver import FOLDED, SESSIONS
from lakehouse.delta.lookup import Lookup
from lakehouse.rows.arrow_frames import rows_of
from lakehouse.rows.driver_or_spark import Rows, Source, local_rows, with_columns_of
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.timestamps import span_micros, to_micros
from silver.visits.visitor_fold import takes_event

_FAR = 2**62
_BOUNDS = [pa.field("visitor_id", pa.string()), pa.field("_low", pa.int64()), pa.field("_high", pa.int64())]


def open_rows(source: Source, events: Rows, watermark: datetime) -> dict[str, Rows]:
    """Read, by table, the open rows that on-time events or the watermark may change.

    Rows without a due time were written before that column existed. They count as due: the fold closes them
    or sets their due time.

    Args:
        source: reads the tables.
        events: on-time events. All are after the previous watermark, so they cannot change closed rows.
        watermark: after the batch.
    """
    rows = {
        table.name: source.look_up(table.name, Lookup(table.column_names, flag="is_open")) for table in FOLDED
    }
    if not isinstance(events, DataFrame):
        return {name: _affected(each, events, to_micros(watermark)) for name, each in rows.items()}
    visitors = F.broadcast(events.select("visitor_id").distinct().withColumn("_is_here", F.lit(True)))
    is_due = F.col("due_at").isNull() | (F.col("due_at") <= F.lit(watermark))
    return {
        name: each.join(visitors, "visitor_id", "left").where(F.col("_is_here") | is_due).drop("_is_here")
        for name, each in rows.items()
    }


def _affected(rows: pa.Table, events: pa.Table, watermark: int) -> pa.Table:
    is_here = pc.is_in(rows["visitor_id"], events["visitor_id"].combine_chunks())
    is_due = pc.fill_null(pc.less_equal(rows["due_at"], watermark), True)
    return rows.filter(pc.or_(is_here, is_due))


class _Reach(NamedTuple):
    """How long before and after a visitor's late events rows may change, in microseconds."""

    start: str
    end: str
    back: int
    forth: int


def affected_rows(source: Source, late: pa.Table, numbers: RuleNumbers) -> dict[str, Rows]:
    """Read, by table, the rows that late events may change.

    Exposures have no upper time limit: if clicks are close together, one more click may change which of the
    following clicks count.

    Args:
        source: reads the tables.
        late: visitor_id, event_time, type and role of late events, on the driver.
        numbers: spans of sessions and exposures.
    """
    gap = span_micros(numbers.session_gap)
    seen = span_micros(numbers.impression_span + numbers.click_pause)
    reaches = {
        SESSIONS.name: _Reach("started_at", "ended_at", gap, gap),
        IMPRESSIONS.name: _Reach("event_time", "event_time", seen, _FAR),
        SEARCHES.name: _Reach("event_time", "event_time", span_micros(numbers.search_span), _FAR),
    }
    return {
        table.name: _near(source, table.name, table.column_names, late, reaches[table.name])
        for table in FOLDED
    }


def _near(source: Source, name: str, columns: tuple[str, ...], late: pa.Table, reach: _Reach) -> Rows:
    """Read rows that overlap the range from a visitor's first to last late event, extended by the reach."""
    bounds: dict[str, tuple[int, int]] = {}
    for visitor, at, kind, role in rows_of(late, ("visitor_id", "event_time", "type", "role")):
        if takes_event(name, kind, role):
            low, high = bounds.get(visitor, (at, at))
            bounds[visitor] = min(low, at), max(high, at)
    of_visitor = [(who, low - reach.back, high + reach.forth) for who, (low, high) in bounds.items()]
    spans = TimePruner.of_spans((low, high) for _, low, high in of_visitor)
    wanted = Lookup(columns, spans, reach.start, reach.end, key=("visitor_id", bounds))
    names = (*columns, "_low", "_high")
    rows = source.look_up(name, wanted)
    found = with_columns_of(rows, "visitor_id", local_rows(_BOUNDS, of_visitor), names)
    if isinstance(found, DataFrame):
        is_near = F.unix_micros(reach.end) > F.col("_low")
        is_near &= F.unix_micros(reach.start) < F.col("_high")
        return found.where(is_near).select(*columns)
    is_near = pc.greater(found[reach.end], found["_low"])
    return found.filter(pc.and_(is_near, pc.less(found[reach.start], found["_high"]))).select(list(columns))
