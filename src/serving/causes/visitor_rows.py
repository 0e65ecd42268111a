"""Finds the events that changed a row of one visitor: sessions, exposures, identities, bots, touches."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from folds.visitors.events import SESSION_TYPES
from folds.visitors.fold import IMPRESSION_ROLES, SEARCH_ROLES
from folds.visitors.results import RESULT_ROLES
from lakehouse.timestamps import to_micros
from serving.causes.changed_row import ChangedRow
from serving.causes.input_events import InputEvent

EventsByVisitor = Mapping[str, Sequence[InputEvent]]
Finder = Callable[[ChangedRow, EventsByVisitor], list[InputEvent]]


def by_visitor(events: Iterable[InputEvent]) -> EventsByVisitor:
    """Group events by visitor."""
    found: dict[str, list[InputEvent]] = defaultdict(list)
    for event in events:
        found[event.visitor_id].append(event)
    return found


def session_finder(changes: Iterable[ChangedRow]) -> Finder:
    """A finder of the events within the session to which a row belongs after the commit.

    A session has all events of its visitor in its time span. Events of other sessions are at least the
    session gap away, with and without the new events. One that continues another depends on earlier events.

    Args:
        changes: changes of silver.sessions in one commit. A deleted session was merged into another of them.
    """
    spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for change in changes:
        if row := change.after:
            spans[row["visitor_id"]].append((to_micros(row["started_at"]), to_micros(row["ended_at"])))

    def find(change: ChangedRow, events: EventsByVisitor) -> list[InputEvent]:
        visitor, start = change.sides[-1]["visitor_id"], to_micros(change.sides[-1]["started_at"])
        around = [(low, high) for low, high in spans[visitor] if low <= start <= high]
        theirs = [event for event in events.get(visitor, ()) if event.type in SESSION_TYPES]
        if not around:
            return theirs
        low, high = around[0]
        if any(row.get("continues") for row in change.sides):
            return [event for event in theirs if event.event_time <= high]
        return [event for event in theirs if low <= event.event_time <= high]

    return find


def impression_events(change: ChangedRow, events: EventsByVisitor) -> list[InputEvent]:
    """Impressions of the row's promotion for the visitor, and clicks on it: they decide all these rows."""
    row = change.sides[-1]
    theirs = with_role(events.get(row["visitor_id"], ()), IMPRESSION_ROLES)
    return [event for event in theirs if event.promotion_id == row["promotion_id"]]


def search_events(change: ChangedRow, events: EventsByVisitor) -> list[InputEvent]:
    """Searches of the visitor, and clicks on results."""
    return with_role(events.get(change.sides[-1]["visitor_id"], ()), SEARCH_ROLES)


def result_events(change: ChangedRow, events: EventsByVisitor) -> list[InputEvent]:
    """Searches of the visitor, their results, and clicks on these."""
    return with_role(events.get(change.sides[-1]["visitor_id"], ()), RESULT_ROLES)


def identity_events(change: ChangedRow, events: EventsByVisitor) -> list[InputEvent]:
    """Events of the visitor: those with a user id, or all if the visitor has several spans."""
    theirs = all_of_visitor(change, events)
    is_whole = all(row["valid_from"] is None and row["valid_to"] is None for row in change.sides)
    return [event for event in theirs if event.user_id] if is_whole else theirs


def all_of_visitor(change: ChangedRow, events: EventsByVisitor) -> list[InputEvent]:
    """All events of the visitor."""
    return list(events.get(change.sides[-1]["visitor_id"], ()))


def own_event(change: ChangedRow, events: EventsByVisitor) -> list[InputEvent]:
    """The event with the row's event id."""
    row = change.sides[-1]
    return [event for event in events.get(row["visitor_id"], ()) if event.event_id == row["event_id"]]


def touch_finder(whole: Collection[str]) -> Finder:
    """A finder of the visitor's events up to the touch; of the visitors of `whole`, of all events."""

    def find(change: ChangedRow, events: EventsByVisitor) -> list[InputEvent]:
        last = change.at("touched_at")
        theirs = all_of_visitor(change, events)
        return [event for event in theirs if event.event_time <= last or event.visitor_id in whole]

    return find


def with_role(events: Iterable[InputEvent], roles: Sequence[str]) -> list[InputEvent]:
    """Events with one of these roles."""
    return [event for event in events if event.role in roles]


FINDERS: Mapping[str, Finder] = {
    "silver.events": own_event,
    "silver.impressions": impression_events,
    "silver.searches": search_events,
    "silver.search_results": result_events,
    "silver.identities": identity_events,
    "silver.bots": all_of_visitor,
    "silver.consents": all_of_visitor,
    "gold.bot_refunds": own_event,
}
"""Finders by table."""
