"""Campaigns inside a session: events after the first that come by another campaign or click id."""

from collections.abc import Iterable, Iterator
from operator import attrgetter

from folds.visitors.events import IMPRESSION, Event
from folds.visitors.sessions import Session, SessionIndex

_Fields = tuple[str | None, ...]
_when = attrgetter("event_time", "event_id")


def campaigns_in_sessions(events: Iterable[Event], sessions: SessionIndex) -> Iterator[Event]:
    """Find the events that come by a campaign or click id other than the latest one of their session.

    An event has another one if any of its source, medium, name, id and click id differs from that of the
    latest such event, or else of the session. What it does not have is not compared: sites keep some
    parameters in their links and lose others. The campaign of an impression is what was shown, not how the
    visitor came.

    Args:
        events: of one visitor, in any order.
        sessions: of the events.

    Yields:
        Events, in order of time, then UID.
    """
    latest: dict[str, _Fields] = {}
    for event in sorted(events, key=_when):
        own = _fields_of(event)
        if event.role == IMPRESSION or not any(own):
            continue
        session = sessions.of(event)
        if session is None or session.first_event_id == event.event_id:
            continue
        before = latest.get(session.session_id) or _fields_of(session)
        if any(ours not in (None, theirs) for ours, theirs in zip(own, before, strict=True)):
            latest[session.session_id] = own
            yield event


def _fields_of(row: Event | Session) -> _Fields:
    return (row.campaign_source, row.campaign_medium, row.campaign_name, row.campaign_id, row.click_id)
