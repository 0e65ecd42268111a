"""Sessions: joins fragments of a visit that are less than the session gap apart.

An event is the smallest fragment, a session the largest. Joining is associative, so the order and batching of
events do not matter. Sessions that continue each other have the campaign of the first: a session keeps what
it has got from the one before it, until that one changes.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from operator import attrgetter, itemgetter
from typing import NamedTuple

from folds.visitors.continuations import Entry, Origin, may_continue
from folds.visitors.events import PAGE_VIEW, Event
from folds.visitors.rules import VisitorRules


class Session(NamedTuple):
    """A row of silver.sessions.

    Args:
        continues: id of the session that it continues; its campaign, click id and channel are that one's.
        due_at: the watermark that closes it; None once it is closed.
        has_internal_referrer: of the first event; None in a row that was written before that column existed.
        custom_dimensions: of the first event.
    """

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
    continues: str | None
    rules_version: str | None
    is_open: bool
    due_at: int | None
    first_event_id: str
    last_event_id: str
    has_internal_referrer: bool | None = None
    custom_dimensions: str | None = None


class Fragment(NamedTuple):
    """Part of a session. Fragments are ordered by (`started_at`, `first_event_id`).

    Args:
        entry: of the first event.
        origin: campaign, click id and channel of the first event, or of the session that it continues.
        continues: id of that session.
        is_row: a session as it was published, not an event or a session that has changed since.
    """

    started_at: int
    first_event_id: str
    ended_at: int
    last_event_id: str
    exit_url: str | None
    events: int
    page_views: int
    entry: Entry
    origin: Origin
    continues: str | None = None
    is_row: bool = False


class _Visit(NamedTuple):
    """Fragments that are less than the session gap apart; `last` is the one that ends last."""

    first: Fragment
    last: Fragment
    events: int
    page_views: int
    is_row: bool


def event_fragment(event: Event) -> Fragment:
    """Convert an event that is part of a session to a fragment."""
    at, uid, url = event.event_time, event.event_id, event.url
    entry = Entry(
        url, event.referrer, event.has_internal_referrer, event.rules_version, event.custom_dimensions
    )
    return Fragment(at, uid, at, uid, url, 1, event.role == PAGE_VIEW, entry, Origin(*event[7:16]))


def session_fragment(session: Session, has_changed: bool = False) -> Fragment:
    """Convert a session to a fragment; `has_changed`: it differs from its published row."""
    url, referrer, is_internal = session.entry_url, session.entry_referrer, session.has_internal_referrer
    return Fragment(
        session.started_at,
        session.first_event_id,
        session.ended_at,
        session.last_event_id,
        session.exit_url,
        session.events,
        session.page_views,
        Entry(url, referrer, is_internal, session.rules_version, session.custom_dimensions),
        origin_of(session),
        session.continues,
        is_row=not has_changed,
    )


def join_fragments(
    visitor: str, fragments: Iterable[Fragment], rules: VisitorRules, watermark: int
) -> list[Session]:
    """Join a visitor's fragments that are less than the session gap apart.

    A session continues the one before it if it may, see `folds.visitors.continuations`.

    Args:
        visitor: the visitor.
        fragments: events and sessions, in any order; each event is in one of them only. Between the first and
            the last, no session of the visitor is missing. If a session before the first is missing, it ended
            too long before every event to be continued, or it has not changed since the first was computed.
        rules: of sessions.
        watermark: decides which sessions are open.

    Returns:
        The sessions, in order of time.
    """
    sessions: list[Session] = []
    has_changed = False
    for visit in _visits(fragments, rules.session_gap):
        first = visit.first
        origin, continues = first.origin, first.continues
        if (
            sessions
            and not (visit.is_row and not has_changed)
            and may_continue(first.entry, origin, continues)
        ):
            before = sessions[-1]
            if first.started_at - before.ended_at <= rules.continuation_span:
                origin, continues = origin_of(before), before.session_id
        has_changed = not visit.is_row or (origin, continues) != (first.origin, first.continues)
        sessions.append(_session(visitor, visit, origin, continues, watermark, rules.session_gap))
    return sessions


def origin_of(session: Session) -> Origin:
    """Campaign, click id and channel of a session."""
    return Origin(*session[9:18])


def _visits(fragments: Iterable[Fragment], gap: int) -> Iterator[_Visit]:
    first = last = None
    events = page_views = count = 0
    for each in sorted(fragments, key=itemgetter(0, 1)):
        if first is None or last is None or each.started_at - last.ended_at >= gap:
            if first and last:
                yield _Visit(first, last, events, page_views, count == 1 and first.is_row)
            first, last, events, page_views, count = each, each, 0, 0, 0
        elif (each.ended_at, each.last_event_id) > (last.ended_at, last.last_event_id):
            last = each
        events += each.events
        page_views += each.page_views
        count += 1
    if first and last:
        yield _Visit(first, last, events, page_views, count == 1 and first.is_row)


def session_id(visitor: str, started_at: int) -> str:
    """Derive the id from visitor and start, so that every computation gives the same id."""
    return sha256(f"{started_at}|{visitor}".encode(errors="surrogatepass")).hexdigest()[:32]


def _session(
    visitor: str, visit: _Visit, origin: Origin, continues: str | None, watermark: int, gap: int
) -> Session:
    first, last = visit.first, visit.last
    due_at = last.ended_at + gap
    is_open = watermark < due_at
    return Session(
        session_id(visitor, first.started_at),
        visitor,
        first.started_at,
        last.ended_at,
        visit.events,
        visit.page_views,
        first.entry.url,
        last.exit_url,
        first.entry.referrer,
        *origin,
        continues,
        first.entry.rules_version,
        is_open,
        due_at if is_open else None,
        first.first_event_id,
        last.last_event_id,
        first.entry.has_internal_referrer,
        first.entry.custom_dimensions,
    )


class SessionIndex:
    """A visitor's sessions, looked up by time.

    Args:
        sessions: in any order; they do not overlap.
    """

    def __init__(self, sessions: Iterable[Session]) -> None:
        self._sessions: Sequence[Session] = sorted(sessions, key=attrgetter("started_at"))
        self._starts = [session.started_at for session in self._sessions]

    def of(self, event: Event) -> Session | None:
        """The session of an event of the visitor; None for a server event, and others outside sessions."""
        place = bisect_right(self._starts, event.event_time) if event.is_in_session else 0
        if place and event.event_time <= self._sessions[place - 1].ended_at:
            return self._sessions[place - 1]
        return None
