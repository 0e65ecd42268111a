"""The fold over visitors, run over the sessions of an area: changed touches, goals and minutes."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.persons.records import Goal, Impression, Touch, View, Visit
from folds.visitors.events import Event
from folds.visitors.fold import IMPRESSION_ROLES, find_credit_inputs
from folds.visitors.goals import Goal as GoalEvent
from folds.visitors.minutes import VisitorMinute
from folds.visitors.rules import VisitorRules
from folds.visitors.sessions import Session
from folds.visitors.spans import Span, is_within
from gold.credit.area import Area, span_rows
from gold.credit.dimensions import Dimensions
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.gold import CONVERSIONS, TOUCHES
from lakehouse.contracts.silver import EVENTS
from lakehouse.contracts.table import DELETED
from lakehouse.contracts.traffic import VISITOR_MINUTES
from lakehouse.delta.lookup import Lookup
from lakehouse.delta.write_changes import as_tuples, change_type
from lakehouse.rows.arrow_times import in_micros
from lakehouse.rows.driver_or_spark import KEY, Rows, Source, union, with_key
from lakehouse.rows.grouped import GroupedRows, Groups, batch_of_kind
from lakehouse.rows.row_changes import RowDiff
from lakehouse.rows.time_pruner import TimePruner

GOAL, MINUTE = "goal", "minute"
_NESTED: dict[str, Callable[..., Any]] = {"impression": Impression, "view": View}
_FIRST, _LAST = -(2**62), 2**62
_OF_CONVERSION, _OF_MINUTE = arrow_schema(CONVERSIONS), arrow_schema(VISITOR_MINUTES)
RESULT = pa.schema(
    [
        pa.field(TOUCHES.short_name, change_type(TOUCHES)),
        pa.field(GOAL, pa.struct([_OF_CONVERSION.field(name) for name in GoalEvent._fields])),
        pa.field(MINUTE, pa.struct([_OF_MINUTE.field(name) for name in VisitorMinute._fields])),
    ]
)


def visit_changes(source: Source, area: Area, dimensions: Dimensions, rules: VisitorRules) -> Groups:
    """Touches, goals and minutes of the visits of an area.

    Returns:
        Structs, not computed yet: `touches`, a `change_type` per changed touch; `goal`, a goal event as a
        conversion, without its person; `minute`, counts of a visitor's events per minute and channel.
    """
    columns = TOUCHES.column_names
    touches = source.look_up(TOUCHES.name, area.lookup(columns, "touched_at"))
    if dimensions.new_bots:
        theirs = Lookup(columns, key=("visitor_id", dimensions.new_bots))
        touches = union(touches, source.look_up(TOUCHES.name, theirs))
    events = source.look_up(EVENTS.name, area.lookup(Event._fields, "event_time"))
    kinds = {
        "span": area.span_rows(),
        "session": with_key(area.sessions, "visitor_id", Session._fields),
        "event": with_key(events, "visitor_id", Event._fields),
        "touch": with_key(touches, "visitor_id", columns),
    }
    if area.behind:
        kinds |= {"behind": span_rows(area.behind), "seen": _seen_before(source, area)}
    return Groups(kinds, _VisitFold(rules), RESULT)


def _seen_before(source: Source, area: Area) -> Rows:
    """Impressions and clicks of earlier sessions."""
    ends = ((low, high - 1) for theirs in area.behind.values() for low, high in theirs)
    near = TimePruner.of_spans(ends)
    wanted = Lookup(Event._fields, near, "event_time", key=("visitor_id", area.behind))
    events = source.look_up(EVENTS.name, wanted)
    if isinstance(events, DataFrame):
        events = events.where(F.col("role").isin(*IMPRESSION_ROLES))
    else:
        events = events.filter(pc.is_in(events["role"], pa.array(IMPRESSION_ROLES, pa.string())))
    return with_key(events, "visitor_id", Event._fields)


def all_visits(sessions: DataFrame, events: DataFrame, rules: VisitorRules) -> Groups:
    """Touches, goals and minutes of the whole history; every touch is an insert.

    Args:
        sessions: rows of silver.sessions.
        events: rows of silver.events of the same visitors.
        rules: the rules of sessions, exposures and goals.
    """
    key = F.col("visitor_id").alias(KEY)
    everything = sessions.select("visitor_id").union(events.select("visitor_id")).distinct()
    kinds = {
        "span": everything.select(key, F.lit(_FIRST).alias("low"), F.lit(_LAST).alias("high")),
        "session": sessions.select(key, *Session._fields),
        "event": events.select(key, *Event._fields),
    }
    return Groups(kinds, _VisitFold(rules), RESULT)


class _VisitFold:
    """The fold over visitors, run by workers.

    Args:
        rules: the rules of sessions and exposures.
    """

    def __init__(self, rules: VisitorRules) -> None:
        self._rules = rules

    def __call__(self, groups: GroupedRows) -> Iterator[pa.RecordBatch]:
        spans = groups.rows("span", tuple)
        sessions = groups.rows("session", Session)
        events, seen = groups.rows("event", Event), groups.rows("seen", Event)
        behind = groups.rows("behind", tuple)
        before = groups.rows("touch", tuple, impression=Impression, view=View)
        diff = RowDiff(TOUCHES)
        found: dict[str, list[tuple[Any, ...]]] = {field.name: [] for field in RESULT}
        for visitor in spans.keys() | before.keys():
            theirs = sorted(spans.get(visitor, ()))
            inside = [event for event in events.get(visitor, ()) if is_within(event.event_time, theirs)]
            earlier = _within(seen.get(visitor, ()), behind.get(visitor, ()), theirs)
            now = find_credit_inputs(visitor, inside, sessions.get(visitor, ()), self._rules, earlier)
            was = _touches_within(before.get(visitor, ()), theirs)
            found[TOUCHES.short_name] += as_tuples(diff.compare(was, now.touches))
            found[GOAL] += now.goals
            found[MINUTE] += now.minutes
        for kind, rows in found.items():
            if rows:
                yield batch_of_kind(RESULT, kind, rows)


_TOUCHED_AT = TOUCHES.column_names.index("touched_at")


def _touches_within(touches: Iterable[tuple[Any, ...]], spans: list[Span]) -> list[tuple[Any, ...]]:
    """Touches inside the spans; for bots, which have no spans, all touches."""
    return [touch for touch in touches if not spans or is_within(touch[_TOUCHED_AT], spans)]


def _within(events: Iterable[Event], behind: Iterable[Span], spans: list[Span]) -> list[Event]:
    """Events of earlier sessions outside the spans."""
    before = sorted(behind)
    return [
        event
        for event in events
        if is_within(event.event_time, before) and not is_within(event.event_time, spans)
    ]


def touch_changes(changes: pa.Table) -> list[tuple[Touch, bool]]:
    """Changed touches on the driver, each with whether it is deleted."""
    table = in_micros(changes)
    columns = [_values(table[name], _NESTED.get(name)) for name in TOUCHES.column_names]
    deleted = table[DELETED].to_pylist()
    return [(Touch(*row), gone) for *row, gone in zip(*columns, deleted, strict=True)]


def _values(column: pa.ChunkedArray, make: Callable[..., Any] | None) -> list[Any]:
    values = column.to_pylist()
    return [value and make(**value) for value in values] if make else values


def goals_of(goals: pa.Table) -> list[Goal]:
    """Goals on the driver, with visitor_id as person_id until identities are resolved."""
    table = in_micros(goals)
    columns = {name: table[name].to_pylist() for name in GoalEvent._fields}
    columns["visit"] = [None if each is None else Visit(**each) for each in columns["visit"]]
    columns["person_id"] = columns["visitor_id"]
    return [Goal(*row) for row in zip(*(columns[name] for name in Goal._fields[:-1]), strict=True)]
