"""Touches: counted clicks, and starts of sessions."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from folds.visitors.clicks import Piece, assign_clicks
from folds.visitors.events import Event
from folds.visitors.exposures import impression_piece
from folds.visitors.rules import ExposureRule
from folds.visitors.sessions import Session

CLICK, VISIT = "click", "visit"
_DIRECT, _DISPLAY = "Direct", "Display"
_OF_EVENT, _OF_SESSION = (
    slice(fields.index("campaign_source"), fields.index("click_id_kind") + 1)
    for fields in (Event._fields, Session._fields)
)


class Impression(NamedTuple):
    """Column `impression` of gold.touches: the impression that a click is on."""

    event_id: str
    at: int
    url: str | None
    referrer: str | None


class Touch(NamedTuple):
    """Row of gold.touches: a counted click, or the start of a session."""

    touch_id: str
    visitor_id: str
    touched_at: int
    kind: str
    event_id: str
    channel: str | None
    campaign_source: str | None
    campaign_medium: str | None
    campaign_name: str | None
    campaign_term: str | None
    campaign_content: str | None
    campaign_id: str | None
    click_id: str | None
    click_id_kind: str | None
    promotion_id: str | None
    url: str | None
    referrer: str | None
    impression: Impression | None
    rules_version: str | None


def find_touches(events: Iterable[Event], sessions: Iterable[Session], rule: ExposureRule) -> list[Touch]:
    """Every touch of one visitor.

    A session that starts with a counted click is one touch, the click.

    Args:
        events: of whole sessions; those of role `click` and `impression` count.
        sessions: those of the events.
        rule: of impressions.

    Returns:
        Clicks by promotion, then visits, each in order of time.
    """
    clicks = [_click_touch(*found) for found in _counted_clicks(events, rule)]
    clicked = {touch.event_id for touch in clicks}
    return clicks + [_visit_touch(each) for each in sessions if each.first_event_id not in clicked]


def _counted_clicks(events: Iterable[Event], rule: ExposureRule) -> list[tuple[Event, Event | None]]:
    """Each counted click with the impression that it is on."""
    by_promotion: dict[str | None, list[Piece]] = defaultdict(list)
    by_id = {}
    for event in events:
        if event.role in (rule.exposure, rule.click):
            by_promotion[event.promotion_id].append(impression_piece(event))
            by_id[event.event_id] = event
    return [
        (by_id[click.event_id], None if head is click else by_id[head.event_id])
        for pieces in by_promotion.values()
        for click, head, counts in assign_clicks(pieces, rule)
        if counts
    ]


def _click_touch(click: Event, seen: Event | None) -> Touch:
    """A click's channel is that of its own campaign, else Display: never Direct."""
    named = (click.campaign_source, click.campaign_medium, click.campaign_name, click.campaign_id)
    has_campaign = any(field is not None for field in named)
    return Touch(
        click.event_id,
        click.visitor_id,
        click.event_time,
        CLICK,
        click.event_id,
        click.channel if has_campaign and click.channel not in (None, _DIRECT) else _DISPLAY,
        *click[_OF_EVENT],
        click.promotion_id,
        click.url,
        click.referrer,
        Impression(seen.event_id, seen.event_time, seen.url, seen.referrer) if seen else None,
        click.rules_version,
    )


def _visit_touch(session: Session) -> Touch:
    return Touch(
        session.session_id,
        session.visitor_id,
        session.started_at,
        VISIT,
        session.first_event_id,
        session.channel,
        *session[_OF_SESSION],
        None,
        session.entry_url,
        session.entry_referrer,
        None,
        session.rules_version,
    )
