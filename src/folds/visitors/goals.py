"""Goals: events that may be conversions, each with its session."""

import json
from collections.abc import Iterable, Set
from decimal import Decimal
from hashlib import sha256
from typing import NamedTuple

from folds.visitors.consents import EVERYTHING, VisitorConsents
from folds.visitors.custom_dimensions import NO_VALUES, of_goal
from folds.visitors.events import Event
from folds.visitors.sessions import Session, SessionIndex


class Visit(NamedTuple):
    """The session of a goal, with its first event: the field `visit` of gold.conversions."""

    session_id: str
    event_id: str
    at: int
    url: str | None
    referrer: str | None
    channel: str | None


class Goal(NamedTuple):
    """The columns of gold.conversions that one goal event determines."""

    conversion_id: str
    event_id: str
    visitor_id: str
    goal: str
    order_id: str | None
    refund_id: str | None
    converted_at: int
    value: Decimal | None
    currency: str | None
    url: str | None
    referrer: str | None
    visit: Visit | None
    rules_version: str | None
    has_analytics_consent: bool | None = None
    has_attribution_consent: bool | None = None
    custom_dimensions: str | None = None


def read_goals(
    events: Iterable[Event],
    sessions: SessionIndex,
    refunds: Set[str],
    consents: VisitorConsents = EVERYTHING,
    of_sessions: Set[str] = frozenset(),
) -> list[Goal]:
    """Convert each goal event of one visitor to a goal.

    Args:
        events: of one visitor; events without a goal are ignored.
        sessions: the visitor's sessions.
        refunds: goals of which an order may have several.
        consents: the visitor's.
        of_sessions: custom dimensions whose value is that of the session's first event.
    """
    visits = ((event, sessions.of(event)) for event in events if event.goal is not None)
    return [
        Goal(
            _conversion_id(event.goal, event, refunds),
            event.event_id,
            event.visitor_id,
            event.goal,
            event.order_id,
            event.refund_id,
            event.event_time,
            event.value,
            event.currency,
            event.url,
            event.referrer,
            _visit(session),
            event.rules_version,
            *consents.at(event.event_time, event.event_id)[:2],
            of_goal(event.custom_dimensions, _values(session), of_sessions),
        )
        for event, session in visits
        if event.goal is not None  # for the type checker
    ]


def _conversion_id(goal: str, event: Event, refunds: Set[str]) -> str:
    if goal in refunds:
        return refund_conversion_id(goal, event.order_id, event.refund_id, event.event_id)
    return conversion_id(goal, event.order_id, event.event_id)


def conversion_id(goal: str, order: str | None, event: str) -> str:
    """Derive the id from goal and order, so that a late event of the order does not change it."""
    return _digest([goal, "event", event] if order is None else [goal, "order", order])


def refund_conversion_id(goal: str, order: str | None, refund: str | None, event: str) -> str:
    """Derive the id from goal, order and refund; if order or refund is missing, from the event."""
    if order is None or refund is None:
        return conversion_id(goal, None, event)
    return _digest([goal, "refund", order, refund])


def _digest(parts: list[str]) -> str:
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


def _values(session: Session | None) -> str | None:
    return None if session is None else session.custom_dimensions or NO_VALUES


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
