"""View-through: an impression that led to a visit without a click."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from folds.visitors.events import Event
from folds.visitors.promotions import own_channel
from folds.visitors.sessions import Session

PROMOTION, CAMPAIGN = "promotion", "campaign"

_Key = tuple[str, ...]


class View(NamedTuple):
    """Column `view` of gold.touches: the impression that a visit is a view-through of."""

    event_id: str
    at: int
    url: str | None
    referrer: str | None
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
    matched_on: str


class Impressions:
    """A visitor's impressions, looked up by promotion and campaign, and the times of counted clicks.

    Args:
        seen: impressions, at least those within the span before each visit.
        clicked: times of counted clicks in the same period.
        span: an impression this long or longer before a visit does not lead to it.
    """

    def __init__(self, seen: Iterable[Event], clicked: Iterable[int], span: int) -> None:
        self._seen = seen
        self._clicked = sorted(clicked)
        self._span = span

    @cached_property
    def _by_key(self) -> dict[_Key, list[Event]]:
        """Impressions by key, in order; lazy, because visits without a campaign do not need them."""
        found: dict[_Key, list[Event]] = defaultdict(list)
        for event in sorted(self._seen, key=_when):
            for key in _keys_of_impression(event):
                found[key].append(event)
        return dict(found)

    def view_of(self, session: Session) -> View | None:
        """Find the latest impression before a visit with the promotion or campaign of its landing.

        None if it is too old, or if anything was clicked from the impression up to the landing.
        """
        landed = (session.started_at, session.first_event_id)
        found = [(key[0], event) for key in _keys_of_landing(session) if (event := self._last(key, landed))]
        if not found:
            return None
        matched_on, latest = max(found, key=lambda each: (_when(each[1]), each[0] == PROMOTION))
        is_near = session.started_at - latest.event_time < self._span
        return _view(latest, matched_on) if is_near and not self._is_clicked(latest, session) else None

    def _last(self, key: _Key, before: tuple[int, str]) -> Event | None:
        events = self._by_key.get(key, [])
        place = bisect_left(events, before, key=_when)
        return events[place - 1] if place else None

    def _is_clicked(self, seen: Event, session: Session) -> bool:
        low = bisect_left(self._clicked, seen.event_time)
        return bisect_right(self._clicked, session.started_at) > low


def _when(event: Event) -> tuple[int, str]:
    return event.event_time, event.event_id


def _keys_of_impression(event: Event) -> list[_Key]:
    promotion = [] if event.promotion_id is None else [(PROMOTION, event.promotion_id)]
    return [*promotion, *_whole_campaign(event)]


def _keys_of_landing(session: Session) -> list[_Key]:
    names = {name for name in (session.campaign_name, session.campaign_id) if name is not None}
    return [*((PROMOTION, name) for name in names), *_whole_campaign(session)]


def _whole_campaign(of: Event | Session) -> Sequence[_Key]:
    source, medium, name = of.campaign_source, of.campaign_medium, of.campaign_name
    if source is None or medium is None or name is None:
        return []
    return [(CAMPAIGN, source, medium, name)]


def _view(seen: Event, matched_on: str) -> View:
    at = (seen.event_id, seen.event_time, seen.url, seen.referrer)
    return View(*at, own_channel(seen), *seen[7:15], seen.promotion_id, matched_on)
