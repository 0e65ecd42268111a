"""Goals: events that may be conversions, each with the session that holds it."""

import json
from collections.abc import Iterable
from decimal import Decimal
from hashlib import sha256
from typing import NamedTuple

from folds.visitors.events import Event
from folds.visitors.sessions import Session, SessionIndex


class Visit(NamedTuple):
    """The session that a goal was reached in, by its first event: the field `visit` of gold.conversions."""

    session_id: str
    event_id: str
    at: int
    url: str | None
    referrer: str | None
    channel: str | None


class Goal(NamedTuple):
    """What one event says of a conversion: the columns of gold.conversions that no other event decides."""

    conversion_id: str
    event_id: str
    visitor_id: str
    goal: str
    order_id: str | None
    converted_at: int
    value: Decimal | None
    currency: str | None
    url: str | None
    referrer: str | None
    visit: Visit | None
    rules_version: str | None


def read_goals(events: Iterable[Event], sessions: SessionIndex) -> list[Goal]:
    """Each goal event of one visitor as a conversion of its own.

    Args:
        events: of one visitor; those with a goal count.
        sessions: those that hold them.
    """
    return [
        Goal(
            conversion_id(event.goal, event.order_id, event.event_id),
            event.event_id,
            event.visitor_id,
            event.goal,
            event.order_id,
            event.event_time,
            event.value,
            event.currency,
            event.url,
            event.referrer,
            _visit(sessions.at(event.event_time)),
            event.rules_version,
        )
        for event in events
        if event.goal is not None
    ]


def conversion_id(goal: str, order: str | None, event: str) -> str:
    """Derived from goal and order, so that it outlives an earlier copy that comes late."""
    parts = [goal, "event", event] if order is None else [goal, "order", order]
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


def _visit(session: Session | None) -> Visit | None:
    if session is None:
        return None
    return Visit(
        session.session_id,
        session.first_event_id,
        session.started_at,
        session.entry_url,
        session.entry_referrer,
        session.channel,
    )
