"""Trails: the steps that led to a conversion: impression, click, visit, page views, goal."""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from folds.persons.journeys import Journey
from folds.persons.page_views import PageViews
from folds.persons.records import Goal, PageView, Touch, TrailRow, Visit
from folds.visitors.promotions import ON_SITE

_RANKS = {"impression": 0, "view": 0, "click": 1, "page_view": 1}


class _Step(NamedTuple):
    """Columns of gold.trails that depend only on the step's event."""

    kind: str
    event_id: str
    at: int
    url: str | None
    referrer: str | None
    promotion_id: str | None = None
    matched_on: str | None = None


def build_trail(journey: Journey, pages: PageViews) -> list[TrailRow]:
    """Build the trail of a conversion from the events that are linked to it.

    The click that led to the visit comes before the visit, and its impression before the click. It is the
    person's last counted click in the look-back that is linked to the conversion's visit. `matched_on` names
    the link. `session`: the click is in the visit. `url` or `referrer`: the visit starts at or after the
    click, and its address or referrer is the clicked address.

    Page views and clicks on on-site promotions within the visit follow, by time, then UID. On-site clicks
    without an earlier page view come before the visit, as does an impression that the visit is a view-through
    of. A refund has the trail of its order, with the order's goal before its own.

    Args:
        journey: the conversion and its touches.
        pages: of the visit at least.

    Returns:
        Rows of gold.trails, from step 1.
    """
    conversion, anchor = journey.conversion, journey.anchor
    steps = [] if anchor.visit is None else _visit_steps(anchor, anchor.visit, journey.steps, pages)
    if anchor.conversion_id != conversion.conversion_id:
        steps.append(_goal_step(anchor, "order"))
    steps.append(_goal_step(conversion, None))
    of, at = conversion.conversion_id, conversion.converted_at
    return [
        TrailRow(of, number, step.kind, step.event_id, step.at, at, *step[3:])
        for number, step in enumerate(steps, 1)
    ]


class Trails:
    """Trails of journeys, built lazily during iteration: with many page views they are long.

    Args:
        journeys: in the order of the trails.
        pages: of their visits.
    """

    def __init__(self, journeys: Sequence[Journey], pages: PageViews) -> None:
        self._journeys = journeys
        self._pages = pages

    def __iter__(self) -> Iterator[TrailRow]:
        for journey in self._journeys:
            yield from build_trail(journey, self._pages)


def _goal_step(goal: Goal, matched_on: str | None) -> _Step:
    return _Step("goal", goal.event_id, goal.converted_at, goal.url, goal.referrer, None, matched_on)


def _visit_steps(anchor: Goal, visit: Visit, touches: Sequence[Touch], pages: PageViews) -> list[_Step]:
    """The steps before the visit, the start of the visit, and the steps within it."""
    viewed = pages.before(anchor)
    leading, on_site = _tied_clicks(anchor.visitor_id, visit, touches)
    first = _when(viewed[0]) if viewed else None
    early: list[_Step] = []
    late: list[_Step] = []
    for click in on_site:
        is_early = first is None or (click.touched_at, click.event_id) < first
        (early if is_early else late).extend(_click_steps(click, "session"))
    start = _Step("visit", *visit[1:5], matched_on="session")
    walked = [_page_step(view) for view in viewed if view.event_id != visit.event_id]
    before = [*leading, *early, *_view_steps(visit, touches)]
    return _without_repeats([*_in_order(before), start, *_in_order([*late, *walked])])


def _tied_clicks(visitor: str, visit: Visit, touches: Sequence[Touch]) -> tuple[list[_Step], list[Touch]]:
    """Find the steps of the last click that led to a visit, and the on-site promotion clicks in the visit."""
    leading: list[_Step] = []
    on_site = []
    for touch in reversed(touches):
        tie = _tie(touch, visitor, visit) if touch.kind == "click" else None
        if tie == "session" and touch.channel == ON_SITE:
            on_site.append(touch)
        elif tie and not leading:
            leading = _click_steps(touch, tie)
    return leading, on_site


def _view_steps(visit: Visit, touches: Sequence[Touch]) -> list[_Step]:
    """The impression that a visit is a view-through of, as a list of steps."""
    views = [touch.view for touch in touches if touch.touch_id == visit.session_id and touch.view]
    return [_Step("view", *view[:4], view.promotion_id, view.matched_on) for view in views]


_when = attrgetter("at", "event_id")


def _in_order(steps: Iterable[_Step]) -> list[_Step]:
    """Sort by time, then UID; at the same time, impressions come before clicks."""
    return sorted(steps, key=lambda step: (step.at, _RANKS[step.kind], step.event_id))


def _without_repeats(steps: Iterable[_Step]) -> list[_Step]:
    """Keep each step once, at its first position: several clicks may share an impression."""
    return list({(step.kind, step.event_id): step for step in steps}.values())


def _page_step(view: PageView) -> _Step:
    return _Step("page_view", view.event_id, view.at, view.url, view.referrer, matched_on="session")


def _click_steps(touch: Touch, tie: str) -> list[_Step]:
    """A click, after its impression if it has one."""
    promotion, seen = touch.promotion_id, touch.impression
    at_click = touch.event_id, touch.touched_at, touch.url, touch.referrer
    click = _Step("click", *at_click, promotion, tie)
    return [_Step("impression", *seen, promotion, "promotion"), click] if seen else [click]


def _tie(click: Touch, visitor: str, visit: Visit) -> str | None:
    """The link between a click and a visitor's visit; None if they are not linked.

    A click that is neither a touch nor on-site was sent by a server, and belongs to no visit.
    """
    if click.earns_credit is False and click.channel != ON_SITE:
        return None
    if click.visitor_id == visitor and click.touched_at >= visit.at:
        return "session"
    if click.touched_at > visit.at or click.url is None:
        return None
    clicked = _page(click.url)
    if clicked == _page(visit.url):
        return "url"
    return "referrer" if clicked == _page(visit.referrer) else None


def _page(address: str | None) -> str | None:
    """An address without its fragment."""
    return None if address is None else address.partition("#")[0]
