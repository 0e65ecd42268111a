"""The area of a micro-batch: time spans of visitors that its events may change, and their sessions."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from folds.visitors.sessions import Session
from folds.visitors.spans import Span, is_within, spans_of_all
from folds.visitors.view_spans import Landing, spans_before, visits_after
from gold.credit.dimensions import Dimensions
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.gold import CONVERSIONS
from lakehouse.contracts.silver import EVENTS, SESSIONS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.grouped import GroupedRows, batch_of_kind, map_groups, rows_of_kind, with_key
from lakehouse.rows.semi_join import semi_join, without
from lakehouse.rows.time_pruner import MINUTE, TimePruner, hours_between
from lakehouse.run.microbatch import Batch, stamped_within
from lakehouse.timestamps import span_micros

_SPAN = pa.struct([("visitor_id", pa.string()), ("low", pa.int64()), ("high", pa.int64())])
_RESULT = pa.schema(
    [
        pa.field("span", _SPAN),
        pa.field("behind", _SPAN),
        pa.field("session", pa.struct([arrow_schema(SESSIONS).field(name) for name in Session._fields])),
    ]
)


@dataclass(frozen=True)
class Area:
    """Time spans of visitors, with their sessions. Spans are `visitor_id`, `low`, `high` (excluded).

    Args:
        spans: the spans.
        behind: spans of earlier sessions. Their impressions may have led to visits in `spans` without a
            click (view-through).
        sessions: rows of silver.sessions that start in the spans.
        visitors: visitor_id and person_id of the visitors, each once.
        pruner: contains the spans.
        pruner_behind: contains `behind`.
    """

    spans: DataFrame
    behind: DataFrame
    sessions: DataFrame
    visitors: DataFrame
    pruner: TimePruner
    pruner_behind: TimePruner


def new_moments(lake: Lakehouse, batch: Batch, dimensions: Dimensions) -> DataFrame:
    """Times of new events of people: late events, and goals of orders shared with new bots, too.

    Returns:
        visitor_id and event_time. Checkpointed.
    """
    is_new = stamped_within(batch.after, batch.upto)
    if batch.has_side_input:
        late = stamped_within(batch.side_input_after, batch.side_input_upto)
        is_new |= F.col("is_late") & late
    moments = lake.read(EVENTS.name).where(is_new).select("visitor_id", "event_time")
    if dimensions.has_new_bots:
        moments = moments.unionByName(_goals_shared_with_bots(lake, dimensions))
    moments = checkpoint(moments)
    return checkpoint(without(moments, dimensions.bots_among(moments), "visitor_id"))


def load_area(lake: Lakehouse, moments: DataFrame, dimensions: Dimensions, view_span: timedelta) -> Area:
    """Find the spans around new events, and around later visits that may be view-throughs.

    Args:
        lake: the tables.
        moments: output of `new_moments`. Checkpointed.
        dimensions: of the micro-batch.
        view_span: time after an impression, exclusive, in which a visit may be its view-through.
    """
    sessions = _sessions_near(lake, moments, view_span)
    kinds = {
        "moment": with_key(moments, "visitor_id", ("event_time",)),
        "session": with_key(sessions, "visitor_id", Session._fields),
    }
    found = checkpoint(map_groups(kinds, _AreaFold(span_micros(view_span)), _RESULT))
    row = found.agg(
        *(hours_between(*_edges(F.col(kind))).alias(kind) for kind in ("span", "behind"))
    ).collect()[0]
    spans = rows_of_kind(found, "span")
    return Area(
        spans=spans,
        behind=rows_of_kind(found, "behind"),
        sessions=rows_of_kind(found, "session"),
        visitors=checkpoint(dimensions.persons_of(spans.select("visitor_id").distinct())),
        pruner=TimePruner.of_hours(row.span),
        pruner_behind=TimePruner.of_hours(row.behind),
    )


def _sessions_near(lake: Lakehouse, moments: DataFrame, view_span: timedelta) -> DataFrame:
    """Rows of silver.sessions of the visitors, as far as `view_span` around the sessions of the moments."""
    at = F.unix_micros("event_time")
    hours = moments.agg(hours_between(at, at)).collect()[0][0]
    touching = TimePruner.of_hours(hours, MINUTE).overlaps("started_at", "ended_at")
    sessions = lake.read(SESSIONS.name)
    bounds = sessions.where(touching).select("visitor_id", "started_at", "ended_at")
    around = semi_join(bounds, moments, "visitor_id")
    start, end = F.unix_micros("started_at"), F.unix_micros("ended_at")
    wide = TimePruner.of_hours([*hours, *around.agg(hours_between(start, end)).collect()[0][0]], view_span)
    return semi_join(sessions.where(wide.overlaps("started_at", "ended_at")), moments, "visitor_id")


def _edges(span: Column) -> tuple[Column, Column]:
    return span["low"], span["high"] - 1


@dataclass(frozen=True)
class _AreaFold:
    """Spans and sessions of visitors, as Spark's Python workers compute them.

    Args:
        view_span: in microseconds.
    """

    view_span: int

    def __call__(self, groups: GroupedRows) -> Iterator[pa.RecordBatch]:
        sessions, moments = groups.rows("session", Session), groups.rows("moment", _time)
        bounds = {visitor: sorted(map(_bounds, rows)) for visitor, rows in sessions.items()}
        landings = {visitor: sorted(map(_landing, rows)) for visitor, rows in sessions.items()}
        led = visits_after(spans_of_all(moments, bounds), landings, self.view_span)
        times = {visitor: [*theirs, *led.get(visitor, ())] for visitor, theirs in moments.items()}
        spans = spans_of_all(times, bounds)
        behind = spans_before(spans, landings, self.view_span)
        inside = [
            session
            for visitor, theirs in spans.items()
            for session in sessions.get(visitor, ())
            if is_within(session.started_at, theirs)
        ]
        yield batch_of_kind(_RESULT, "span", _rows(spans))
        yield batch_of_kind(_RESULT, "behind", _rows(behind))
        yield batch_of_kind(_RESULT, "session", inside)


def _rows(spans: dict[str, list[Span]]) -> list[tuple[str, int, int]]:
    return [(visitor, low, high) for visitor, theirs in spans.items() for low, high in theirs]


def _bounds(session: Session) -> Span:
    return session.started_at, session.ended_at


def _landing(session: Session) -> Landing:
    is_named = session.campaign_name is not None or session.campaign_id is not None
    return Landing(session.started_at, session.ended_at, is_named)


def _time(at: int) -> int:
    return at


def _goals_shared_with_bots(lake: Lakehouse, dimensions: Dimensions) -> DataFrame:
    """Goals of orders for which new bots have conversions: another visitor may get the conversion now."""
    conversions = semi_join(lake.read(CONVERSIONS.name), dimensions.new_bots, "visitor_id")
    orders = conversions.where("order_id IS NOT NULL").select("order_id").distinct()
    goals = lake.read(EVENTS.name).where("goal IS NOT NULL")
    return semi_join(goals, orders, "order_id").select("visitor_id", "event_time")
