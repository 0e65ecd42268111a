"""Finds the events that rows of silver and gold are computed from, as the causes of a change from nothing."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, time, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import narwhals as nw

from lakehouse.contracts.cohorts import PERSONS
from lakehouse.contracts.daily import DIMENSION_PERFORMANCE
from lakehouse.contracts.items import CONVERSION_ITEMS
from lakehouse.contracts.orders import ORDER_COMPARISONS
from lakehouse.timestamps import as_utc, to_micros
from millrace.tables.table_scan import Row
from millrace.trace.history import History, TracedEvent
from serving.causes.changed_row import ChangedRow
from serving.causes.person_rows import CONVERSION_TABLES, events_until
from serving.causes.visitor_rows import FINDERS, Finder, by_visitor, session_finder, touch_finder

_DAY = timedelta(days=1)
_STEP_ROLES = {
    "impression": "impression",
    "click": "click",
    "visit": "page_view",
    "search": "search",
}
"""Role of the events by which a visitor reaches a step; an order is a goal."""


class RowEvents(NamedTuple):
    """Events behind rows of a table.

    Args:
        counted: those that the rows are about: in the session or window, the goals, the credited touches.
        context: those that decide how they count: earlier ones, and those of the same persons and orders.
    """

    counted: list[TracedEvent]
    context: list[TracedEvent]


def find_events(history: History, table: str, rows: Sequence[Row], zone: str) -> RowEvents:
    """The events from which rows of a table can be computed again.

    Args:
        history: reads events.
        table: the table, whose rows have events.
        rows: the rows.
        zone: the business time zone.
    """
    if table in (*CONVERSION_TABLES, CONVERSION_ITEMS.name):
        return _of_conversions(history, {row["conversion_id"] for row in rows})
    if table == ORDER_COMPARISONS.name:
        return RowEvents(history.goals_of({row["order_id"] for row in rows}), [])
    if table == PERSONS.name:
        return _of_persons(history, {row["person_id"] for row in rows})
    if table == "gold.traffic" or "day" in rows[0]:
        parts = [_of_span(history, table, row, zone) for row in rows]
    else:
        parts = [_of_visitor(history, table, row) for row in rows]
    counted, context = ([event for part in parts for event in part[kind]] for kind in (0, 1))
    return _without_repeats(counted, context)


def _of_visitor(history: History, table: str, row: Row) -> RowEvents:
    """Events of the row's visitor, chosen as the causes of a change are."""
    change = ChangedRow(None, row)
    events = history.of_visitors([row["visitor_id"]])
    named = {value for name, value in row.items() if name.endswith("event_id")}
    inside = _span_of(row)
    finder = _finder(history, table, change)
    found = _keep(events, finder(change, by_visitor(each.event for each in events)))
    counted = [each for each in found if each.event.event_id in named or inside(each.event.event_time)]
    return _without_repeats(counted, found)


def _finder(history: History, table: str, change: ChangedRow) -> Finder:
    if table == "silver.sessions":
        return session_finder([change])
    if table == "gold.touches":
        return touch_finder(history.bots([change.sides[-1]["visitor_id"]]))
    return FINDERS[table]


def _of_conversions(history: History, names: Collection[str]) -> RowEvents:
    """Goals of the conversions and of their orders, and events of their persons."""
    mine = nw.col("conversion_id").is_in(sorted(names))
    conversions = history.find("gold.conversions", mine)
    touched = {row["touch_id"] for row in history.find("gold.attribution", mine)} - {None}
    touches = history.find("gold.touches", nw.col("touch_id").is_in(sorted(touched)))
    counted = {row["event_id"] for row in (*conversions, *touches)} | touched
    orders = {row["order_id"] for row in conversions} - {None}
    found = _of_goals(history, history.goals_of(orders, {row["event_id"] for row in conversions}))
    return _without_repeats((each for each in found if each.event.event_id in counted), found)


def _of_persons(history: History, persons: Collection[str]) -> RowEvents:
    """Goals of persons, and their other events; events that decide how goals of the same orders count."""
    events = history.of_visitors(history.linked(persons))
    goals = [each for each in events if each.event.goal]
    orders = {goal.event.order_id for goal in goals if goal.event.order_id is not None}
    of_goals = _of_goals(history, history.goals_of(orders, {goal.event.event_id for goal in goals}))
    return _without_repeats(goals, [*events, *of_goals])


def _of_goals(history: History, goals: Sequence[TracedEvent]) -> list[TracedEvent]:
    """Events of the persons who reached some goals, up to the last goal."""
    if not goals:
        return []
    visitors = history.linked(goal.event.visitor_id for goal in goals)
    events = history.of_visitors(visitors)
    last = max(goal.event.event_time for goal in goals)
    of_all_times = history.bots(visitors) | history.with_several_users(visitors)
    own = {goal.event.event_id for goal in goals}
    return _keep(events, events_until(last, own, (each.event for each in events), of_all_times))


def _of_span(history: History, table: str, row: Row, zone: str) -> RowEvents:
    """Events in a window or on a day, earlier ones of their visitors, and what their goals depend on.

    Rows of a day may follow from events up to a day later: a search is clicked, a click leads to an order.
    """
    low, high, after = bounds_of(row, zone)
    inside = history.between(low, high)
    bots = history.bots({each.event.visitor_id for each in inside})
    counted = [each for each in inside if each.event.visitor_id not in bots and _may_count(table, row, each)]
    if row.get("channel") is not None:
        of_channel = _of_channel(history, row["channel"], low, high)
        if table == DIMENSION_PERFORMANCE.name:
            of_channel |= _with_credit(history, row["channel"], low, high)
        counted = [each for each in counted if each.event.visitor_id in of_channel]
    visitors = {each.event.visitor_id for each in counted}
    goals = [each for each in inside if each.event.goal and each.event.visitor_id in visitors]
    orders = {goal.event.order_id for goal in goals if goal.event.order_id is not None}
    of_goals = _of_goals(history, history.goals_of(orders, {goal.event.event_id for goal in goals}))
    return _without_repeats(counted, [*history.of_visitors(visitors, high + after), *of_goals])


def bounds_of(row: Row, zone: str) -> tuple[datetime, datetime, timedelta]:
    """Start and end of a window or day, and how long afterwards events may change its row."""
    if "window_start" in row:
        return as_utc(row["window_start"]), as_utc(row["window_end"]), timedelta(0)
    starts = (datetime.combine(day, time(), ZoneInfo(zone)) for day in (row["day"], row["day"] + _DAY))
    low, high = (start.astimezone(ZoneInfo("UTC")) for start in starts)
    return low, high, _DAY


def _may_count(table: str, row: Row, each: TracedEvent) -> bool:
    """Whether an event of the time may count in a row."""
    event = each.event
    if table == "gold.funnel":
        role = _STEP_ROLES.get(row["step"])
        return event.goal is not None if role is None else event.role == role
    if table in ("gold.search_performance", "gold.result_performance"):
        return event.role in ("search", "results")
    if table == "gold.promotion_performance":
        return bool(event.promotion_id == row["promotion_id"])
    return True


def _of_channel(history: History, channel: str, low: datetime, high: datetime) -> frozenset[str]:
    """Visitors with a session or conversion of a channel in a window."""
    mine = nw.col("channel") == channel
    sessions = history.find(
        "silver.sessions", mine & (nw.col("started_at") < high) & (nw.col("ended_at") >= low)
    )
    converted = (nw.col("converted_at") >= low) & (nw.col("converted_at") < high)
    conversions = history.find("gold.conversions", converted & (nw.col("traffic_channel") == channel))
    return frozenset(row["visitor_id"] for row in (*sessions, *conversions))


def _with_credit(history: History, channel: str, low: datetime, high: datetime) -> frozenset[str]:
    """Visitors with a conversion on a day that a channel has credit for."""
    converted = (nw.col("converted_at") >= low) & (nw.col("converted_at") < high)
    credits_ = history.find("gold.attribution", converted & (nw.col("channel") == channel))
    names = sorted({row["conversion_id"] for row in credits_})
    conversions = history.find("gold.conversions", converted & nw.col("conversion_id").is_in(names))
    return frozenset(row["visitor_id"] for row in conversions)


def _span_of(row: Mapping[str, Any]) -> Any:
    """Whether a time is within a session."""
    if "started_at" not in row or "ended_at" not in row:
        return lambda _: False
    low, high = to_micros(row["started_at"]), to_micros(row["ended_at"])
    return lambda at: low <= at <= high


def _keep(events: Iterable[TracedEvent], wanted: Iterable[Any]) -> list[TracedEvent]:
    names = {event.event_id for event in wanted}
    return [each for each in events if each.event.event_id in names]


def _without_repeats(counted: Iterable[TracedEvent], others: Iterable[TracedEvent]) -> RowEvents:
    """Each event once, in order of the coordinates."""
    first = {each.place: each for each in counted}
    rest = {each.place: each for each in others if each.place not in first}
    return RowEvents([first[place] for place in sorted(first)], [rest[place] for place in sorted(rest)])
