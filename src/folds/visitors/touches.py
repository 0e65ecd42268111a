"""Touches: counted clicks, and starts of sessions."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from folds.visitors.clicks import Piece, assign_clicks
from folds.visitors.events import Event
from folds.visitors.exposures import impression_piece
from folds.visitors.promotions import ON_SITE, is_on_site, own_channel
from folds.visitors.rules import ExposureRule, VisitorRules
from folds.visitors.sessions import Session, SessionIndex
from folds.visitors.views import Impressions, View

CLICK, VISIT = "click", "visit"


class Impression(NamedTuple):
    """Column `impression` of gold.touches: the impression of a click."""

    event_id: str
    at: int
    url: str | None
    referrer: str | None


class Touch(NamedTuple):
    """Row of gold.touches: a counted click, or the start of a session.

    A click that earns no credit is only a step of trails. `earns_credit` is None in rows that were written
    before that column existed; these earn credit.
    """

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
    view: View | None
    earns_credit: bool | None
    rules_version: str | None


class CountedClick(NamedTuple):
    """A counted click and its impression."""

    event: Event
    seen: Event | None


def find_touches(
    clicks: Iterable[CountedClick], sessions: Iterable[Session], seen: Impressions, rules: VisitorRules
) -> list[Touch]:
    """Find every touch of one visitor, and clicks that are only steps of trails.

    A session that starts with a counted click gives one touch: the click, or the start if the click is on an
    on-site promotion.

    Args:
        clicks: of whole sessions.
        sessions: the visitor's sessions, with those of the clicks.
        seen: impressions that visits may be view-throughs of.
        rules: of promotions.

    Returns:
        Clicks, then visits in order of time.
    """
    sessions = list(sessions)
    index = SessionIndex(sessions)
    found, leading = [], set()
    for click in clicks:
        session = index.at(click.event.event_time)
        touch = _click_touch(click, session, rules)
        found.append(touch)
        if touch.channel != ON_SITE:
            leading.add(touch.event_id)
    visits = [each for each in sessions if each.first_event_id not in leading]
    return found + [_visit_touch(each, seen.view_of(each)) for each in visits]


def counted_clicks(events: Iterable[Event], rule: ExposureRule) -> list[CountedClick]:
    """Find each counted click with its impression.

    Args:
        events: of one visitor and whole sessions; only the roles `click` and `impression` are used.
        rule: of impressions.
    """
    by_promotion: dict[str | None, list[Piece]] = defaultdict(list)
    by_id = {}
    for event in events:
        if event.role in (rule.exposure, rule.click):
            by_promotion[event.promotion_id].append(impression_piece(event))
            by_id[event.event_id] = event
    return [
        CountedClick(by_id[click.event_id], None if head is click else by_id[head.event_id])
        for pieces in by_promotion.values()
        for click, head, counts in assign_clicks(pieces, rule)
        if counts
    ]


def _click_touch(clicked: CountedClick, session: Session | None, rules: VisitorRules) -> Touch:
    click, seen = clicked
    on_site = is_on_site(click, session, rules.promotions.own_hosts)
    starts = session is not None and session.first_event_id == click.event_id
    return Touch(
        click.event_id,
        click.visitor_id,
        click.event_time,
        CLICK,
        click.event_id,
        ON_SITE if on_site else own_channel(click),
        *click[7:15],
        click.promotion_id,
        click.url,
        click.referrer,
        Impression(seen.event_id, seen.event_time, seen.url, seen.referrer) if seen else None,
        None,
        not on_site or (rules.promotions.on_site_credit and not starts),
        click.rules_version,
    )


def _visit_touch(session: Session, view: View | None) -> Touch:
    return Touch(
        session.session_id,
        session.visitor_id,
        session.started_at,
        VISIT,
        session.first_event_id,
        session.channel,
        *session[9:17],
        None,
        session.entry_url,
        session.entry_referrer,
        None,
        view,
        True,
        session.rules_version,
    )
