"""The area of a micro-batch: time spans of visitors that its events may change, and their sessions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from folds.persons.refunds import OrderRules
from folds.rule_numbers import RuleNumbers
from folds.visitors.continued_spans import sessions_after
from folds.visitors.sessions import Session
from folds.visitors.spans import Span, is_within, spans_of_all, stretches_of
from folds.visitors.view_spans import Landing, spans_before, visits_after
from gold.credit.consents import moments_of_new_consents
from gold.credit.dimensions import Dimensions
from gold.credit.reversals import is_reversal
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.exposures import IMPRESSIONS
from lakehouse.contracts.gold import CONVERSIONS
from lakehouse.contracts.silver import EVENTS, SESSIONS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.checkpointing import checkpoint_with
from lakehouse.rows.grouped import GroupedRows, batch_of_kind, map_groups, rows_of_kind, with_key
from lakehouse.rows.semi_join import semi_join
from lakehouse.rows.time_pruner import HOUR, MINUTE, TimePruner, hours_between
from lakehouse.run.batch_source import Batch
from lakehouse.run.microbatch import stamped_within
from lakehouse.timestamps import LAST, span_micros, to_micros

_LAST_HOUR = to_micros(LAST) // span_micros(HOUR)
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
        pruner: contains the spans.
        pruner_behind: contains `behind`.
    """

    spans: DataFrame
    behind: DataFrame
    sessions: DataFrame
    pruner: TimePruner
    pruner_behind: TimePruner


class NewMoments(NamedTuple):
    """Times of new events.

    Args:
        rows: visitor_id and event_time of late events, of other new events, of goals of orders shared with
            new bots, and of events whose consent has changed. Checkpointed.
        hours: hours that contain them.
        has_reversals: whether refunds or cancellations of orders may be new.
    """

    rows: DataFrame
    hours: Sequence[Sequence[int]]
    has_reversals: bool


def new_moments(lake: Lakehouse, batch: Batch, dimensions: Dimensions, orders: OrderRules) -> NewMoments:
    """Times of the new events of a micro-batch, those of bots included."""
    is_new = arrived = stamped_within(batch.after, batch.upto)
    if batch.has_side_input:
        of_side_input = stamped_within(batch.side_input_after, batch.side_input_upto)
        is_new, arrived = is_new | (F.col("is_late") & of_side_input), arrived | of_side_input
    events = lake.read(EVENTS.name).where(arrived)
    moments = events.select(
        "visitor_id", "event_time", is_new.alias("is_new"), is_reversal(orders).alias("is_reversal")
    )
    others = []
    if dimensions.has_new_bots:
        others.append(_goals_shared_with_bots(lake, dimensions))
    if dimensions.has_new_consents:
        others.append(moments_of_new_consents(lake, dimensions.new_consents))
    for rows in others:
        moments = moments.unionByName(rows.withColumns({"is_new": F.lit(True), "is_reversal": F.lit(False)}))
    at = F.when(F.col("is_new"), F.unix_micros("event_time"))
    rows, found = checkpoint_with(moments, hours=hours_between(at, at), reversals=F.count_if("is_reversal"))
    return NewMoments(
        rows.where("is_new").drop("is_new", "is_reversal"), found["hours"], found["reversals"] > 0
    )


def load_area(lake: Lakehouse, moments: NewMoments, dimensions: Dimensions, numbers: RuleNumbers) -> Area:
    """Find the spans around new events of people, and of the later visits that may change with them.

    Later visits may be view-throughs of new impressions, or continue a session that has changed.

    Args:
        lake: the tables.
        moments: output of `new_moments`.
        dimensions: of the micro-batch.
        numbers: the rule numbers in force.
    """
    around = _near(lake, moments, numbers)
    bots = dimensions.bots_among(moments.rows)
    kinds = {
        "moment": with_key(moments.rows, "visitor_id", ("event_time",)),
        "session": with_key(_sessions(lake, moments, around), "visitor_id", Session._fields),
        "exposure": with_key(_exposures(lake, moments, around), "visitor_id", ("low", "high")),
        "bot": with_key(bots, "visitor_id", ("visitor_id",)),
    }
    fold = _AreaFold(span_micros(numbers.view_span), span_micros(numbers.session_gap))
    folded = map_groups(kinds, fold, _RESULT)
    found, near = checkpoint_with(
        folded, span=hours_between(*_edges(F.col("span"))), behind=hours_between(*_edges(F.col("behind")))
    )
    return Area(
        spans=rows_of_kind(found, "span"),
        behind=rows_of_kind(found, "behind"),
        sessions=rows_of_kind(found, "session"),
        pruner=TimePruner.of_hours(near["span"]),
        pruner_behind=TimePruner.of_hours(near["behind"]),
    )


def _near(lake: Lakehouse, moments: NewMoments, numbers: RuleNumbers) -> TimePruner:
    """Time ranges around the sessions of the moments, and around all later ones that continue another.

    They reach as far as `view_span` and the session gap.
    """
    touching = TimePruner.of_hours(moments.hours, MINUTE).overlaps("started_at", "ended_at")
    since = TimePruner.of_hours([[min((low for low, _ in moments.hours), default=0), _LAST_HOUR]])
    sessions = lake.read(SESSIONS.name)
    continuing = F.col("continues").isNotNull() & since.contains("started_at")
    bounds = sessions.where(touching | continuing).select("visitor_id", "started_at", "ended_at")
    around = semi_join(bounds, moments.rows, "visitor_id")
    start, end = F.unix_micros("started_at"), F.unix_micros("ended_at")
    theirs = around.agg(hours_between(start, end)).collect()[0][0]
    return TimePruner.of_hours([*moments.hours, *theirs], numbers.view_span + numbers.session_gap)


def _sessions(lake: Lakehouse, moments: NewMoments, near: TimePruner) -> DataFrame:
    """Rows of silver.sessions of the visitors."""
    sessions = lake.read(SESSIONS.name)
    return semi_join(sessions.where(near.overlaps("started_at", "ended_at")), moments.rows, "visitor_id")


def _exposures(lake: Lakehouse, moments: NewMoments, near: TimePruner) -> DataFrame:
    """First and last time of the visitors' impressions and the clicks on them, in microseconds."""
    rows = semi_join(
        lake.read(IMPRESSIONS.name).where(near.contains("event_time")), moments.rows, "visitor_id"
    )
    low, high = F.array_min("made_of.at"), F.array_max("made_of.at")
    return rows.select("visitor_id", low.alias("low"), high.alias("high"))


def _edges(span: Column) -> tuple[Column, Column]:
    return span["low"], span["high"] - 1


@dataclass(frozen=True)
class _AreaFold:
    """Spans and sessions of visitors, as Spark's Python workers compute them.

    Args:
        view_span: in microseconds.
        session_gap: in microseconds.
    """

    view_span: int
    session_gap: int

    def __call__(self, groups: GroupedRows) -> Iterator[pa.RecordBatch]:
        bots = groups.rows("bot", tuple).keys()
        sessions, everyones = groups.rows("session", Session), groups.rows("moment", _time)
        moments = {visitor: times for visitor, times in everyones.items() if visitor not in bots}
        stretches = self._stretches(sessions, groups.rows("exposure", tuple))
        landings = {visitor: sorted(map(_landing, rows)) for visitor, rows in sessions.items()}
        changed = spans_of_all(moments, stretches)
        led = visits_after(changed, landings, self.view_span)
        continuing = sessions_after(changed, sessions)
        times = {
            visitor: [*theirs, *led.get(visitor, ()), *continuing.get(visitor, ())]
            for visitor, theirs in moments.items()
        }
        spans = spans_of_all(times, stretches)
        behind = spans_before(spans, landings, stretches, self.view_span)
        inside = [
            session
            for visitor, theirs in spans.items()
            for session in sessions.get(visitor, ())
            if is_within(session.started_at, theirs)
        ]
        yield batch_of_kind(_RESULT, "span", _rows(spans))
        yield batch_of_kind(_RESULT, "behind", _rows(behind))
        yield batch_of_kind(_RESULT, "session", inside)

    def _stretches(
        self, sessions: Mapping[str, Sequence[Session]], exposures: Mapping[str, Sequence[Span]]
    ) -> dict[str, list[Span]]:
        return {
            visitor: stretches_of(
                (*map(_bounds, sessions.get(visitor, ())), *exposures.get(visitor, ())), self.session_gap
            )
            for visitor in sessions.keys() | exposures.keys()
        }


def _rows(spans: dict[str, list[Span]]) -> list[tuple[str, int, int]]:
    return [(visitor, low, high) for visitor, theirs in spans.items() for low, high in theirs]


def _bounds(session: Session) -> Span:
    return session.started_at, session.ended_at


def _landing(session: Session) -> Landing:
    is_named = session.campaign_name is not None or session.campaign_id is not None
    return Landing(session.started_at, is_named and session.continues is None)


def _time(at: int) -> int:
    return at


def _goals_shared_with_bots(lake: Lakehouse, dimensions: Dimensions) -> DataFrame:
    """Goals of orders for which new bots have conversions: another visitor may get the conversion now."""
    conversions = semi_join(lake.read(CONVERSIONS.name), dimensions.new_bots, "visitor_id")
    orders = conversions.where("order_id IS NOT NULL").select("order_id").distinct()
    goals = lake.read(EVENTS.name).where("goal IS NOT NULL")
    return semi_join(goals, orders, "order_id").select("visitor_id", "event_time")
