"""The fold over visitors of an area: changed touches, goals, and counts by minute."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.consent_rules import ALL_GRANTED, Purposes
from folds.persons.records import Impression, View
from folds.visitors.consents import Consent, VisitorConsents
from folds.visitors.events import Event
from folds.visitors.fold import IMPRESSION_ROLES, find_credit_inputs
from folds.visitors.goals import Goal
from folds.visitors.minutes import VisitorMinute
from folds.visitors.rules import VisitorRules
from folds.visitors.sessions import Session
from folds.visitors.spans import Span, is_within
from gold.credit.area import Area
from gold.credit.dimensions import Dimensions
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.consents import CONSENTS
from lakehouse.contracts.gold import CONVERSIONS, TOUCHES
from lakehouse.contracts.silver import EVENTS
from lakehouse.contracts.traffic import VISITOR_MINUTES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.write_changes import as_tuples, change_type
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.grouped import GroupedRows, batch_of_kind, map_groups, with_key
from lakehouse.rows.row_changes import RowDiff
from lakehouse.rows.semi_join import semi_join, within_spans
from lakehouse.run.batch_settings import compiled

GOAL, MINUTE = "goal", "minute"
_NESTED: dict[str, Callable[..., Any]] = {"impression": Impression, "view": View}
_SPAN = CONSENTS.deterministic_columns
_FIRST, _LAST = -(2**62), 2**62
_TOUCHED_AT = TOUCHES.column_names.index("touched_at")
_OF_CONVERSION, _OF_MINUTE = arrow_schema(CONVERSIONS), arrow_schema(VISITOR_MINUTES)
RESULT = pa.schema(
    [
        pa.field(TOUCHES.short_name, change_type(TOUCHES)),
        pa.field(GOAL, pa.struct([_OF_CONVERSION.field(name) for name in Goal._fields])),
        pa.field(MINUTE, pa.struct([_OF_MINUTE.field(name) for name in VisitorMinute._fields])),
    ]
)


def visit_changes(lake: Lakehouse, area: Area, dimensions: Dimensions, rules: VisitorRules) -> DataFrame:
    """Touches, goals and minutes of the visits of an area.

    Returns:
        Structs, of which one is not null; not computed yet: `touches`, a `change_type` per changed touch;
        `goal`, a goal event as a conversion, without its person; `minute`, counts of a visitor's events per
        minute and channel.
    """
    columns = TOUCHES.column_names
    touches = lake.read(TOUCHES.name).where(area.pruner.contains("touched_at"))
    touches = within_spans(touches, area.spans, "visitor_id", "touched_at").select(*columns)
    if dimensions.has_new_bots:
        with compiled(lake.spark):  # touches of all times: docs/decisions/0073
            theirs = semi_join(lake.read(TOUCHES.name), dimensions.new_bots, "visitor_id")
            touches = touches.unionByName(checkpoint(theirs.select(*columns)))
    events = lake.read(EVENTS.name).select(*Event._fields)
    is_seen = area.pruner_behind.contains("event_time") & F.col("role").isin(*IMPRESSION_ROLES)
    near = events.where(area.pruner.contains("event_time") | is_seen)
    both = area.spans.unionByName(area.behind)
    kinds = {
        "span": with_key(area.spans, "visitor_id", ("low", "high")),
        "session": with_key(area.sessions, "visitor_id", Session._fields),
        "event": with_key(within_spans(near, both, "visitor_id", "event_time"), "visitor_id", Event._fields),
        "touch": with_key(touches, "visitor_id", columns),
        "consent": with_key(semi_join(dimensions.consents, area.spans, "visitor_id"), "visitor_id", _SPAN),
    }
    return map_groups(kinds, _VisitFold(rules, dimensions.defaults), RESULT)


def all_visits(
    sessions: DataFrame,
    events: DataFrame,
    consents: DataFrame,
    rules: VisitorRules,
    defaults: Purposes = ALL_GRANTED,
) -> DataFrame:
    """Touches, goals and minutes of the whole history; every touch is an insert.

    Args:
        sessions: rows of silver.sessions.
        events: rows of silver.events of the same visitors.
        consents: rows of silver.consents.
        rules: the rules of sessions, exposures and goals.
        defaults: purposes that are granted at events in no span of consent.
    """
    kinds = {
        "session": with_key(sessions, "visitor_id", Session._fields),
        "event": with_key(events, "visitor_id", Event._fields),
        "consent": with_key(consents, "visitor_id", _SPAN),
    }
    return map_groups(kinds, _VisitFold(rules, defaults, is_whole=True), RESULT)


class _VisitFold:
    """The fold, as Spark's Python workers run it.

    Args:
        rules: the rules of sessions and exposures.
        defaults: purposes that are granted at events in no span of consent.
        is_whole: whether all events and sessions of the visitors are there, instead of those in spans.
    """

    def __init__(self, rules: VisitorRules, defaults: Purposes, is_whole: bool = False) -> None:
        self._rules = rules
        self._defaults = defaults
        self._is_whole = is_whole

    def __call__(self, groups: GroupedRows) -> Iterator[pa.RecordBatch]:
        spans = groups.rows("span", tuple)
        sessions = groups.rows("session", Session)
        events = groups.rows("event", Event)
        before = groups.rows("touch", tuple, **_NESTED)
        consents = groups.rows("consent", Consent)
        diff = RowDiff(TOUCHES)
        found: dict[str, list[tuple[Any, ...]]] = {field.name: [] for field in RESULT}
        for visitor in groups.keys:
            theirs = [(_FIRST, _LAST)] if self._is_whole else sorted(spans.get(visitor, ()))
            inside, behind = _split(events.get(visitor, ()), theirs)
            earlier = [event for event in behind if event.role in IMPRESSION_ROLES]
            granted = VisitorConsents(consents.get(visitor, ()), self._defaults)
            now = find_credit_inputs(
                visitor, inside, sessions.get(visitor, ()), self._rules, earlier, granted
            )
            was = _touches_within(before.get(visitor, ()), theirs)
            found[TOUCHES.short_name] += as_tuples(diff.compare(was, now.touches))
            found[GOAL] += now.goals
            found[MINUTE] += now.minutes
        for kind, rows in found.items():
            if rows:
                yield batch_of_kind(RESULT, kind, rows)


def _split(events: Iterable[Event], spans: list[Span]) -> tuple[list[Event], list[Event]]:
    """Events inside the spans, and the others."""
    inside: list[Event] = []
    outside: list[Event] = []
    for event in events:
        (inside if is_within(event.event_time, spans) else outside).append(event)
    return inside, outside


def _touches_within(touches: Iterable[tuple[Any, ...]], spans: list[Span]) -> set[tuple[Any, ...]]:
    """Touches inside the spans, each once; for new bots, which have no spans, all touches."""
    return {touch for touch in touches if not spans or is_within(touch[_TOUCHED_AT], spans)}
