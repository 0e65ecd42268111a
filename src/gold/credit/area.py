"""The area of a micro-batch: the spans of visitors' time that its events may change, and sessions there."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.visitors.sessions import Session
from folds.visitors.spans import Span, is_within, spans_of_all
from gold.credit.dimensions import Dimensions
from gold.time_pruner import MINUTE, TimePruner
from lakehouse.arrow_frames import in_micros, rows_of, transpose, with_any_of
from lakehouse.batches import Batch
from lakehouse.contracts.gold import CONVERSIONS
from lakehouse.contracts.silver import EVENTS, SESSIONS
from lakehouse.grouped import KEY
from lakehouse.tables import Lakehouse

_SPAN = [pa.field(KEY, pa.string()), pa.field("low", pa.int64()), pa.field("high", pa.int64())]

Moments = Mapping[str, Iterable[int]]
"""visitor_id -> times in microseconds."""


@dataclass(frozen=True)
class Area:
    """Spans, and the sessions in them.

    Args:
        spans: by visitor_id, in order.
        sessions: rows of silver.sessions that start in them, times in microseconds.
        pruner: of the spans.
    """

    spans: Mapping[str, list[Span]]
    sessions: pa.Table
    pruner: TimePruner

    def span_rows(self) -> pa.Table:
        """`KEY`, the visitor, start and end of each span."""
        rows = [(visitor, *span) for visitor, spans in self.spans.items() for span in spans]
        return pa.Table.from_arrays(transpose(rows, _SPAN), schema=pa.schema(_SPAN))

    def rows_in(self, rows: DataFrame, time: str) -> DataFrame:
        """The rows of visitors with spans near these: all that lie in one, and some others."""
        return with_any_of(rows.where(self.pruner.contains(time)), "visitor_id", self.spans)

    def contains(self, visitor: str, at: int) -> bool:
        """Whether a time of a visitor lies in one of the spans."""
        return is_within(at, self.spans.get(visitor, ()))


def new_moments(lake: Lakehouse, batch: Batch, dimensions: Dimensions) -> dict[str, list[int]]:
    """When a micro-batch has something new of whom, late events and what bots leave to others included."""
    events = lake.read(EVENTS.name)
    is_new = batch.covers()
    if batch.hears_anything:
        is_new = is_new | (F.col("is_late") & batch.hears())
    fresh = events.where(is_new).select("visitor_id", "event_time")
    if dimensions.new_bots:
        fresh = fresh.unionByName(_orders_shared_with_bots(lake, events, dimensions))
    moments: dict[str, list[int]] = defaultdict(list)
    for visitor, at in rows_of(in_micros(fresh.toArrow()), ("visitor_id", "event_time")):
        if visitor not in dimensions.bots:
            moments[visitor].append(at)
    return dict(moments)


def load_area(lake: Lakehouse, moments: Moments) -> Area:
    """Find the spans around some moments."""
    near = TimePruner.of_spans(((at, at) for times in moments.values() for at in times), margin=MINUTE)
    sessions = lake.read(SESSIONS.name).where(near.overlaps("started_at", "ended_at"))
    rows = in_micros(with_any_of(sessions, "visitor_id", moments).toArrow())
    for name in set(Session._fields) - set(rows.column_names):
        rows = rows.append_column(name, pa.nulls(rows.num_rows, pa.int64()))
    bounds: dict[str, list[Span]] = defaultdict(list)
    for visitor, start, end in sorted(rows_of(rows, ("visitor_id", "started_at", "ended_at"))):
        bounds[visitor].append((start, end))
    spans = spans_of_all(moments, bounds)
    inside = [
        is_within(start, spans[visitor]) for visitor, start in rows_of(rows, ("visitor_id", "started_at"))
    ]
    edges = ((low, high - 1) for theirs in spans.values() for low, high in theirs)
    return Area(spans, rows.filter(pa.array(inside, pa.bool_())), TimePruner.of_spans(edges))


def _orders_shared_with_bots(lake: Lakehouse, events: DataFrame, dimensions: Dimensions) -> DataFrame:
    """Goals of orders that conversions of new bots are of: somebody else's may take their place."""
    published = lake.read(CONVERSIONS.name).where(F.col("order_id").isNotNull())
    orders = with_any_of(published, "visitor_id", dimensions.new_bots).select("order_id").distinct()
    goals = events.where(F.col("goal").isNotNull())
    return goals.join(F.broadcast(orders), "order_id", "left_semi").select("visitor_id", "event_time")
