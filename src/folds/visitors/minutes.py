"""Visitor minutes: what one visitor did in each minute, by channel of the session."""

from collections import defaultdict
from collections.abc import Iterable, Set
from typing import NamedTuple

from folds.visitors.events import PAGE_VIEW, Event
from folds.visitors.sessions import SessionIndex

MINUTE = 60_000_000


class VisitorMinute(NamedTuple):
    """First columns of gold.visitor_minutes; conversions and money need more than a visitor's events."""

    visitor_id: str
    minute: int
    channel: str | None
    events: int
    page_views: int
    sessions: int
    impressions: int
    clicks: int
    searches: int


def visitor_minutes(
    visitor: str, events: Iterable[Event], sessions: SessionIndex, clicked: Set[str]
) -> list[VisitorMinute]:
    """Count a visitor's events by minute and channel.

    Args:
        visitor: the visitor of the events.
        events: of whole minutes.
        sessions: the visitor's sessions.
        clicked: UIDs of the counted clicks among the events.

    Returns:
        One row per minute and channel; channel None is for events outside sessions.
    """
    counts: dict[tuple[int, str | None], list[int]] = defaultdict(lambda: [0] * 6)
    for event in events:
        at, role = event.event_time, event.role
        session = sessions.of(event)
        cell = counts[at - at % MINUTE, session.channel if session else None]
        cell[0] += 1
        cell[1] += role == PAGE_VIEW
        cell[2] += session is not None and session.first_event_id == event.event_id
        cell[3] += role == "impression"
        cell[4] += event.event_id in clicked
        cell[5] += role == "search"
    return [VisitorMinute(visitor, minute, channel, *cell) for (minute, channel), cell in counts.items()]
