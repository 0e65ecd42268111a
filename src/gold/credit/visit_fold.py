"""Visits: the fold over visitors, run over the sessions of an area: changed touches, goals and minutes."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.persons.records import Goal, Impression, Touch, Visit
from folds.visitors.events import Event
from folds.visitors.fold import find_credit_inputs
from folds.visitors.goals import Goal as GoalEvent
from folds.visitors.minutes import VisitorMinute
from folds.visitors.rules import VisitorRules
from folds.visitors.sessions import Session
from folds.visitors.spans import Span, is_within
from gold.credit.area import Area
from gold.credit.dimensions import Dimensions
from lakehouse.arrow_times import in_micros
from lakehouse.changed_rows import as_tuples, change_type
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.gold import CONVERSIONS, TOUCHES, VISITOR_MINUTES
from lakehouse.contracts.silver import EVENTS
from lakehouse.contracts.table import GONE
from lakehouse.grouped import GroupedRows, Groups, batch_of_kind
from lakehouse.lookup import Lookup
from lakehouse.row_changes import RowDiff
from lakehouse.rows import KEY, Source, union, with_key

GOAL, MINUTE = "goal", "minute"
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
    """What the visits of an area come to.

    Returns:
        Structs, not computed yet: `touches`, a `change_type` for each that changes; `goal`, an event as
        a conversion of its own, without its person; `minute`, what a visitor's events of a minute and
        channel come to.
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
    return Groups(kinds, _VisitFold(rules), RESULT)


def all_visits(sessions: DataFrame, events: DataFrame, rules: VisitorRules) -> Groups:
    """What the visits of all history come to, in the same form: every touch as one that comes.

    Args:
        sessions: rows of silver.sessions.
        events: rows of silver.events of the same visitors.
        rules: of sessions, exposures and goals.
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
    """The fold as workers run it.

    Args:
        rules: of sessions and exposures.
    """

    def __init__(self, rules: VisitorRules) -> None:
        self._rules = rules

    def __call__(self, groups: GroupedRows) -> Iterator[pa.RecordBatch]:
        spans = groups.rows("span", _fields)
        sessions = groups.rows("session", Session)
        events = groups.rows("event", Event)
        before = groups.rows("touch", _fields, impression=Impression)
        diff = RowDiff(TOUCHES)
        found: dict[str, list[tuple[Any, ...]]] = {field.name: [] for field in RESULT}
        for visitor in spans.keys() | before.keys():
            theirs = sorted(spans.get(visitor, ()))
            inside = [event for event in events.get(visitor, ()) if is_within(event.event_time, theirs)]
            now = find_credit_inputs(visitor, inside, sessions.get(visitor, ()), self._rules)
            was = _touches_within(before.get(visitor, ()), theirs)
            found[TOUCHES.short_name] += as_tuples(diff.compare(was, now.touches))
            found[GOAL] += now.goals
            found[MINUTE] += now.minutes
        for kind, rows in found.items():
            if rows:
                yield batch_of_kind(RESULT, kind, rows)


_TOUCHED_AT = TOUCHES.column_names.index("touched_at")


def _touches_within(touches: Iterable[tuple[Any, ...]], spans: list[Span]) -> list[tuple[Any, ...]]:
    """The touches in some spans; all of them without spans, which is a bot's case."""
    return [touch for touch in touches if not spans or is_within(touch[_TOUCHED_AT], spans)]


def _fields(*fields: Any) -> tuple[Any, ...]:
    return fields


def touch_changes(changes: pa.Table) -> list[tuple[Touch, bool]]:
    """Changed touches on the driver, and whether each is deleted."""
    table = in_micros(changes)
    impressions = [None if each is None else Impression(**each) for each in table["impression"].to_pylist()]
    columns = [
        impressions if name == "impression" else table[name].to_pylist() for name in TOUCHES.column_names
    ]
    deleted = table[GONE].to_pylist()
    return [(Touch(*row), gone) for *row, gone in zip(*columns, deleted, strict=True)]


def goals_of(goals: pa.Table) -> list[Goal]:
    """Goals on the driver; the person is the visitor, until it is named."""
    table = in_micros(goals)
    columns = {name: table[name].to_pylist() for name in GoalEvent._fields}
    columns["visit"] = [None if each is None else Visit(**each) for each in columns["visit"]]
    columns["person_id"] = columns["visitor_id"]
    return [Goal(*row) for row in zip(*(columns[name] for name in Goal._fields[:-1]), strict=True)]
