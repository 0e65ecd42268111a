"""Touches: counted clicks, starts of sessions, and campaigns inside sessions."""

from collections import defaultdict
from collections.abc import Iterable, Set
from hashlib import sha256
from typing import NamedTuple

from folds.visitors.clicks import Piece, assign_clicks
from folds.visitors.consents import VisitorConsents
from folds.visitors.events import Event
from folds.visitors.exposures import impression_piece
from folds.visitors.promotions import ON_SITE, is_on_site, own_channel
from folds.visitors.rules import ExposureRule, VisitorRules
from folds.visitors.session_campaigns import campaigns_in_sessions
from folds.visitors.sessions import Session, SessionIndex
from folds.visitors.views import Impressions, View

CLICK, VISIT, CAMPAIGN = "click", "visit", "campaign"


class Impression(NamedTuple):
    """Column `impression` of gold.touches: the impression of a click."""

    event_id: str
    at: int
    url: str | None
    referrer: str | None


class Touch(NamedTuple):
    """Row of gold.touches: a counted click, the start of a session, or a campaign inside a session.

    A click on an on-site promotion that earns no credit is only a step of trails; one that a server sent is
    only counted. One without consent to attribution is neither. `earns_credit` and `has_attribution_consent`
    are None in rows that were written before these columns existed; these earn credit.
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
    has_attribution_consent: bool | None = None
    custom_dimensions: str | None = None


class CountedClick(NamedTuple):
    """A counted click and its impression."""

    event: Event
    seen: Event | None


def find_touches(
    events: Iterable[Event],
    clicks: Iterable[CountedClick],
    sessions: Iterable[Session],
    seen: Impressions,
    rules: VisitorRules,
) -> list[Touch]:
    """Find every touch of one visitor, and clicks that are no touches.

    A session that continues another starts without a touch. One that starts with a counted click gives one
    touch: the click, or the start if the click is on an on-site promotion. An event gives one touch: a
    counted click is no campaign inside a session as well.

    Args:
        events: of whole sessions.
        clicks: the counted ones of the events.
        sessions: those of the events.
        seen: impressions that visits may be view-throughs of.
        rules: of promotions and campaigns.

    Returns:
        Clicks, then visits, then campaigns, each in order of time.
    """
    sessions = list(sessions)
    index = SessionIndex(sessions)
    campaigns = list(campaigns_in_sessions(events, index)) if rules.campaign_touches else []
    inside = {event.event_id for event in campaigns}
    found, leading = [], set()
    for click in clicks:
        touch = _click_touch(click, index.of(click.event), rules, inside)
        found.append(touch)
        if touch.channel != ON_SITE:
            leading.add(touch.event_id)
    starts = (each for each in sessions if each.continues is None and each.first_event_id not in leading)
    visits = [_visit_touch(each, seen.view_of(each)) for each in starts]
    return found + visits + [_campaign_touch(each) for each in campaigns if each.event_id not in leading]


def with_consents(touches: Iterable[Touch], consents: VisitorConsents) -> list[Touch]:
    """Touches with the visitor's consent to attribution, and without impressions that lack it."""
    found = []
    for touch in touches:
        seen, is_granted = touch.impression, consents.at(touch.touched_at, touch.event_id).attribution
        if seen is not None and not consents.at(seen.at, seen.event_id).attribution:
            seen = None
        found.append(touch._replace(impression=seen, has_attribution_consent=is_granted))
    return found


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


def _click_touch(
    clicked: CountedClick, session: Session | None, rules: VisitorRules, campaigns: Set[str]
) -> Touch:
    click, seen = clicked
    is_server = bool(click.is_server_event)
    on_site = not is_server and is_on_site(click, session, rules.promotions.own_hosts)
    starts = session is not None and (session.first_event_id, session.continues) == (click.event_id, None)
    is_other_touch = starts or click.event_id in campaigns
    earns_on_site = rules.promotions.on_site_credit and not is_other_touch
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
        not is_server and (not on_site or earns_on_site),
        click.rules_version,
        custom_dimensions=click.custom_dimensions,
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
        custom_dimensions=session.custom_dimensions,
    )


def _campaign_touch(event: Event) -> Touch:
    return Touch(
        sha256(f"{CAMPAIGN}|{event.event_id}".encode(errors="surrogatepass")).hexdigest()[:32],
        event.visitor_id,
        event.event_time,
        CAMPAIGN,
        event.event_id,
        event.channel,
        *event[7:15],
        None,
        event.url,
        event.referrer,
        None,
        None,
        True,
        event.rules_version,
        custom_dimensions=event.custom_dimensions,
    )
