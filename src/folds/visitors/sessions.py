"""Sessions: joins fragments of a visit that are less than the session gap apart.

An event is the smallest fragment, a session the largest. Joining is associative, so the order and batching of
events do not matter.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from hashlib import sha256
from operator import attrgetter, itemgetter
from typing import NamedTuple

from folds.visitors.events import PAGE_VIEW, Event


class Session(NamedTuple):
    """A row of silver.sessions. `due_at`: the watermark that closes it; None once it is closed."""

    session_id: str
    visitor_id: str
    started_at: int
    ended_at: int
    events: int
    page_views: int
    entry_url: str | None
    exit_url: str | None
    entry_referrer: str | None
    campaign_source: str | None
    campaign_medium: str | None
    campaign_name: str | None
    campaign_term: str | None
    campaign_content: str | None
    campaign_id: str | None
    click_id: str | None
    click_id_kind: str | None
    channel: str | None
    rules_version: str | None
    is_open: bool
    due_at: int | None
    first_event_id: str
    last_event_id: str


_Text = str | None
_Entry = tuple[_Text, _Text, _Text, _Text, _Text, _Text, _Text, _Text, _Text, _Text, _Text, _Text]


class Fragment(NamedTuple):
    """Part of a session. Fragments are ordered by (`started_at`, `first_event_id`)."""

    started_at: int
    first_event_id: str
    ended_at: int
    last_event_id: str
    exit_url: str | None
    events: int
    page_views: int
    entry: _Entry
    """Of the first event: url, referrer, campaign fields, click id and its kind, channel, rules_version."""


def event_fragment(event: Event) -> Fragment:
    """Convert a page, screen or track event to a fragment."""
    at, uid, url = event.event_time, event.event_id, event.url
    entry = (url, event.referrer, *event[7:16], event.rules_version)
    return Fragment(at, uid, at, uid, url, 1, event.role == PAGE_VIEW, entry)


def session_fragment(session: Session) -> Fragment:
    """Convert a session to a fragment."""
    return Fragment(
        session.started_at,
        session.first_event_id,
        session.ended_at,
        session.last_event_id,
        session.exit_url,
        session.events,
        session.page_views,
        (session.entry_url, *session[8:19]),
    )


def join_fragments(visitor: str, fragments: Iterable[Fragment], gap: int, watermark: int) -> list[Session]:
    """Join a visitor's fragments that are less than the gap apart.

    Args:
        visitor: the visitor.
        fragments: events and sessions, in any order; each event is in one of them only.
        gap: an event this long or longer after the last one starts a new session.
        watermark: decides which sessions are open.

    Returns:
        The sessions, in order of time.
    """
    sessions = []
    first = last = None
    events = page_views = 0
    for each in sorted(fragments, key=itemgetter(0, 1)):
        if first is None or last is None or each.started_at - last.ended_at >= gap:
            if first and last:
                sessions.append(_session(visitor, first, last, events, page_views, gap, watermark))
            first, last, events, page_views = each, each, 0, 0
        elif (each.ended_at, each.last_event_id) > (last.ended_at, last.last_event_id):
            last = each
        events += each.events
        page_views += each.page_views
    if first and last:
        sessions.append(_session(visitor, first, last, events, page_views, gap, watermark))
    return sessions


def session_id(visitor: str, started_at: int) -> str:
    """Derive the id from visitor and start, so that every computation gives the same id."""
    return sha256(f"{started_at}|{visitor}".encode(errors="surrogatepass")).hexdigest()[:32]


def _session(
    visitor: str, first: Fragment, last: Fragment, events: int, page_views: int, gap: int, watermark: int
) -> Session:
    started_at, entry = first.started_at, first.entry
    due_at = last.ended_at + gap
    is_open = watermark < due_at
    return Session(
        session_id(visitor, started_at),
        visitor,
        started_at,
        last.ended_at,
        events,
        page_views,
        entry[0],
        last.exit_url,
        *entry[1:],
        is_open,
        due_at if is_open else None,
        first.first_event_id,
        last.last_event_id,
    )


class SessionIndex:
    """A visitor's sessions, looked up by time.

    Args:
        sessions: in any order; they do not overlap.
    """

    def __init__(self, sessions: Iterable[Session]) -> None:
        self._sessions: Sequence[Session] = sorted(sessions, key=attrgetter("started_at"))
        self._starts = [session.started_at for session in self._sessions]

    def at(self, time: int) -> Session | None:
        """The session that contains a time, first and last event included; None if there is none."""
        place = bisect_right(self._starts, time)
        if place and time <= self._sessions[place - 1].ended_at:
            return self._sessions[place - 1]
        return None
