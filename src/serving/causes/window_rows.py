"""Finds the events that changed rows of windows, of visitors' minutes, and of days."""

from collections import defaultdict
from collections.abc import Collection
from datetime import date, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from folds.visitors.fold import SEARCH_ROLES
from folds.visitors.results import RESULT_ROLES
from lakehouse.readers.row_conditions import AtMost, IsIn
from lakehouse.timestamps import from_micros
from serving.causes.changed_row import ChangedRow
from serving.causes.commit_input import MINUTES, CommitInput
from serving.causes.input_events import InputEvent
from serving.causes.linked_visitors import Goals, Persons
from serving.causes.table_rows import TableRows
from serving.causes.visitor_rows import EventsByVisitor

_DAY = timedelta(days=1)
_DAY_ROLES = {"gold.search_performance": SEARCH_ROLES, "gold.result_performance": RESULT_ROLES}


class VisitorMinute(NamedTuple):
    """A row of gold.visitor_minutes from the input or before it; times in microseconds."""

    visitor_id: str
    minute: int
    channel: str | None
    by_events: bool
    sequence: int
    events: int


class WindowEvents:
    """Finds the events of the input behind a change of a window.

    Visitors with new rows in gold.visitor_minutes change a window. Minutes depend on the visitor's events and
    on goals of the same orders. For a visitor without events in the window before the input, only events in
    the window count; for other visitors, all events do.

    Args:
        rows: reader of the tables.
        given: the input.
        events: events of the input, by visitor.
        goals: goals through the end of the input.
        new_bots: visitors who were classified as bots since the last commit.
        identified: visitors whose person may have changed with the input.
    """

    def __init__(
        self,
        rows: TableRows,
        given: CommitInput,
        events: EventsByVisitor,
        goals: Goals,
        new_bots: Collection[str],
        identified: Collection[str] = (),
    ) -> None:
        self._new_bots = new_bots
        self._identified = identified
        self._rows = rows
        self._given = given
        self._events = events
        self._goals = goals
        self._known: dict[str, list[VisitorMinute]] | None = None

    def find(self, change: ChangedRow) -> list[InputEvent]:
        """The events behind a change of gold.traffic."""
        low, high = change.at("window_start"), change.at("window_end")
        return self._between(low, high, change.sides[-1]["channel"])

    def of_minute(self, change: ChangedRow) -> list[InputEvent]:
        """The events behind a row of gold.visitor_minutes."""
        row = change.sides[-1]
        return [] if row["visitor_id"] is None else self._of_visitor(row["visitor_id"])

    def visitors(self, change: ChangedRow) -> frozenset[str]:
        """Visitors with new rows in the window."""
        low, high = change.at("window_start"), change.at("window_end")
        return frozenset(self._changed(low, high, change.sides[-1]["channel"]))

    def _between(self, low: int, high: int, channel: str | None) -> list[InputEvent]:
        found: dict[str, InputEvent] = {}
        for visitor, minutes in self._changed(low, high, channel).items():
            if self._had_part(visitor, low, high):
                theirs = self._of_visitor(visitor)
                if visitor not in self._new_bots and not any(minute.by_events for minute in minutes):
                    theirs = [event for event in theirs if event.goal]
            else:
                inside = self._events.get(visitor, ())
                theirs = [event for event in inside if low <= event.event_time < high]
            found |= {event.event_id: event for event in theirs}
        return list(found.values())

    def _changed(self, low: int, high: int, channel: str | None) -> dict[str, list[VisitorMinute]]:
        """New rows of gold.visitor_minutes in a window and channel, by visitor."""
        found: dict[str, list[VisitorMinute]] = defaultdict(list)
        for visitor, minutes in self._minutes().items():
            for each in minutes:
                if self._is_new(each) and low <= each.minute < high and channel in (None, each.channel):
                    found[visitor].append(each)
        return found

    def _had_part(self, visitor: str, low: int, high: int) -> bool:
        """Whether a visitor had events in a window before the input."""
        before = (each for each in self._minutes()[visitor] if not self._is_new(each))
        return sum(each.events for each in before if low <= each.minute < high) > 0

    def _of_visitor(self, visitor: str) -> list[InputEvent]:
        """Events of the input by a visitor, and by visitors with the same orders.

        A goal that a server sent counts under the channel of its last touch, of any of the person's visitors.
        """
        goals = self._goals.of_visitor(visitor)
        visitors = {visitor, *(goal.visitor_id for goal in goals)}
        if any(goal.is_server_event for goal in goals):
            visitors |= Persons(self._rows, visitors, self._identified).linked(visitors)
        return [event for each in sorted(visitors) for event in self._events.get(each, ())]

    def _minutes(self) -> dict[str, list[VisitorMinute]]:
        """All rows through the input, by visitor, of visitors with new rows."""
        if self._known is None:
            after, upto = self._given.minutes
            columns = VisitorMinute._fields
            visitors = {
                row[0] for row in self._rows.find(MINUTES, columns, AtMost("sequence", upto, after))
            } - {None}
            known = AtMost("sequence", upto), IsIn("visitor_id", visitors)
            self._known = defaultdict(list)
            for row in self._rows.find(MINUTES, columns, *known):
                self._known[row[0]].append(VisitorMinute(*row))
        return self._known

    def _is_new(self, minute: VisitorMinute) -> bool:
        return minute.sequence > self._given.minutes[0]


def day_events(
    table: str,
    change: ChangedRow,
    events: Collection[InputEvent],
    zone: ZoneInfo,
    new_bots: Collection[str],
) -> list[InputEvent]:
    """Events of the input that may have changed a row of a day: all that its table is computed from.

    For the funnel: events of visitors with an event on that day or an adjacent one, or with a goal, as its
    order may be another visitor's. Events of new bots are always included.
    """
    if table in _DAY_ROLES:
        roles = _DAY_ROLES[table]
        return [event for event in events if event.role in roles or event.visitor_id in new_bots]
    if table != "gold.funnel":
        return list(events)
    day = change.sides[-1]["day"]
    there = {event.visitor_id for event in events if abs(_day_of(event, zone) - day) <= _DAY or event.goal}
    return [event for event in events if event.visitor_id in there.union(new_bots)]


def _day_of(event: InputEvent, zone: ZoneInfo) -> date:
    return from_micros(event.event_time).astimezone(zone).date()
