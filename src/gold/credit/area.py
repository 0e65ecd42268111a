"""The area of a micro-batch: time spans of visitors that its events may change, and their sessions."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

import pyarrow as pa
import pyarrow.compute as pc

from folds.visitors.spans import Span, is_within, spans_of_all
from folds.visitors.view_spans import Landing, spans_before, visits_after
from gold.credit.dimensions import Dimensions
from lakehouse.contracts.gold import CONVERSIONS
from lakehouse.contracts.silver import EVENTS, SESSIONS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.lookup import Lookup
from lakehouse.rows.arrow_frames import rows_of
from lakehouse.rows.driver_or_spark import KEY, local_rows
from lakehouse.rows.time_pruner import MINUTE, TimePruner
from lakehouse.run.microbatch import Batch
from lakehouse.timestamps import span_micros, to_micros

_SPAN = [pa.field(KEY, pa.string()), pa.field("low", pa.int64()), pa.field("high", pa.int64())]
_MOMENT = ("visitor_id", "event_time")
_BOUNDS = ("visitor_id", "started_at", "ended_at")

Moments = Mapping[str, Iterable[int]]
"""visitor_id -> times in microseconds."""


@dataclass(frozen=True)
class Area:
    """Time spans of visitors, with their sessions.

    Args:
        spans: spans by visitor_id, in order.
        sessions: rows of silver.sessions that start in the spans, times in microseconds.
        pruner: a pruner of the spans.
        behind: by visitor_id, in order, spans of earlier sessions. Their impressions may have led to visits
            in `spans` without a click (view-through).
    """

    spans: Mapping[str, list[Span]]
    sessions: pa.Table
    pruner: TimePruner
    behind: Mapping[str, list[Span]]

    def span_rows(self) -> pa.Table:
        """`KEY`, the visitor, start and end of each span."""
        return span_rows(self.spans)

    def lookup(self, columns: Iterable[str], time: str) -> Lookup:
        """A lookup of rows near the spans: all rows inside, and some others."""
        return Lookup(tuple(columns), near=self.pruner, start=time, key=("visitor_id", self.spans))

    def contains(self, visitor: str, at: int) -> bool:
        """Whether a visitor's time is inside one of the spans."""
        return is_within(at, self.spans.get(visitor, ()))


def span_rows(spans: Mapping[str, list[Span]]) -> pa.Table:
    """`KEY`, the visitor, start and end of each span."""
    return local_rows(_SPAN, [(visitor, *span) for visitor, theirs in spans.items() for span in theirs])


def new_moments(lake: Lakehouse, batch: Batch, dimensions: Dimensions) -> dict[str, list[int]]:
    """Times of new events by visitor, including late events and goals of orders shared with new bots."""
    fresh = [_stamped(lake, to_micros(batch.after), to_micros(batch.upto), is_late=False)]
    if batch.has_side_input:
        fresh.append(
            _stamped(lake, to_micros(batch.side_input_after), to_micros(batch.side_input_upto), is_late=True)
        )
    if dimensions.new_bots:
        fresh.append(_orders_shared_with_bots(lake, dimensions))
    moments: dict[str, list[int]] = defaultdict(list)
    for visitor, at in rows_of(pa.concat_tables(fresh), _MOMENT):
        if visitor not in dimensions.bots:
            moments[visitor].append(at)
    return dict(moments)


def load_area(lake: Lakehouse, moments: Moments, view_span: timedelta) -> Area:
    """Find the spans around new events, and around later visits that may be view-throughs.

    Args:
        lake: the tables.
        moments: times of new events, by visitor_id.
        view_span: time after an impression, exclusive, in which a visit may be its view-through.
    """
    near = TimePruner.of_spans(((at, at) for times in moments.values() for at in times), margin=MINUTE)
    spans = spans_of_all(moments, _bounds(_sessions(lake, near, moments, _BOUNDS)))
    wide = TimePruner.of_spans(_edges(spans), margin=view_span)
    rows = _sessions(lake, wide, moments, SESSIONS.column_names)
    landings = _landings(rows)
    led = visits_after(spans, landings, span_micros(view_span))
    times = {visitor: [*theirs, *led.get(visitor, ())] for visitor, theirs in moments.items()}
    spans = spans_of_all(times, _bounds(rows))
    inside = [
        is_within(start, spans[visitor]) for visitor, start in rows_of(rows, ("visitor_id", "started_at"))
    ]
    behind = spans_before(spans, landings, span_micros(view_span))
    return Area(spans, rows.filter(pa.array(inside, pa.bool_())), TimePruner.of_spans(_edges(spans)), behind)


def _sessions(lake: Lakehouse, near: TimePruner, visitors: Moments, columns: tuple[str, ...]) -> pa.Table:
    wanted = Lookup(columns, near, "started_at", "ended_at", key=("visitor_id", visitors))
    return lake.find(SESSIONS.name, wanted)


def _bounds(sessions: pa.Table) -> dict[str, list[Span]]:
    bounds: dict[str, list[Span]] = defaultdict(list)
    for visitor, start, end in sorted(rows_of(sessions, _BOUNDS)):
        bounds[visitor].append((start, end))
    return bounds


def _landings(sessions: pa.Table) -> dict[str, list[Landing]]:
    """Landings by visitor_id, in order."""
    found: dict[str, list[Landing]] = defaultdict(list)
    for visitor, start, end, name, number in rows_of(sessions, (*_BOUNDS, "campaign_name", "campaign_id")):
        found[visitor].append(Landing(start, end, name is not None or number is not None))
    return {visitor: sorted(theirs) for visitor, theirs in found.items()}


def _edges(spans: Mapping[str, list[Span]]) -> Iterator[Span]:
    return ((low, high - 1) for theirs in spans.values() for low, high in theirs)


def _stamped(lake: Lakehouse, after: int, upto: int, *, is_late: bool) -> pa.Table:
    """Events between two ingest stamps: all of them, or late ones only."""
    if upto <= after:
        return local_rows([pa.field("visitor_id", pa.string()), pa.field("event_time", pa.int64())], [])
    stamps = TimePruner.of_spans([(after + 1, upto)])  # after is excluded, upto included
    rows = lake.find(EVENTS.name, Lookup((*_MOMENT, "is_late"), near=stamps, start="ingested_at"))
    return (rows.filter(rows["is_late"]) if is_late else rows).select(list(_MOMENT))


def _orders_shared_with_bots(lake: Lakehouse, dimensions: Dimensions) -> pa.Table:
    """Goals of orders for which new bots have conversions: another visitor may get the conversion now."""
    theirs = ("visitor_id", dimensions.new_bots)
    orders = lake.find(CONVERSIONS.name, Lookup(("order_id",), key=theirs))["order_id"].drop_null()
    of_orders = Lookup((*_MOMENT, "goal"), key=("order_id", set(orders.to_pylist())))
    goals = lake.find(EVENTS.name, of_orders)
    return goals.filter(pc.is_valid(goals["goal"])).select(list(_MOMENT))
