"""Trails: the impression, click and visit that a conversion came of, and what ties each to the next."""

from collections.abc import Sequence
from typing import NamedTuple

from folds.persons.journeys import Journey
from folds.persons.records import Goal, Touch, TrailRow, Visit


class _Step(NamedTuple):
    """Columns of gold.trails that hang on the step's event alone."""

    kind: str
    event_id: str
    at: int
    url: str | None
    referrer: str | None
    promotion_id: str | None = None
    matched_on: str | None = None


def build_trail(journey: Journey) -> list[TrailRow]:
    """Follow a conversion back as far as its events are tied to each other.

    The click is the person's last one, counted and within the look-back, that is tied to the visit of the
    conversion: it is in it (`session`), or the visit began, no earlier, at the address that was clicked
    (`url`), or came from there (`referrer`). The impression is the one that the click is on. A refund has
    the trail of its order, and the order's goal before its own.

    Returns:
        Rows of gold.trails, from step 1.
    """
    conversion, anchor, _, touches = journey
    steps = _click_steps(anchor, touches)
    if visit := anchor.visit:
        steps.append(_Step("visit", *visit[1:5], matched_on="session"))
    if anchor.conversion_id != conversion.conversion_id:
        steps.append(_goal_step(anchor, "order"))
    steps.append(_goal_step(conversion, None))
    of, at = conversion.conversion_id, conversion.converted_at
    return [
        TrailRow(of, number, step.kind, step.event_id, step.at, at, *step[3:])
        for number, step in enumerate(steps, 1)
    ]


def _goal_step(goal: Goal, matched_on: str | None) -> _Step:
    return _Step("goal", goal.event_id, goal.converted_at, goal.url, goal.referrer, None, matched_on)


def _click_steps(anchor: Goal, touches: Sequence[Touch]) -> list[_Step]:
    """The last click that is tied to the visit, after its impression; nothing without one."""
    if anchor.visit is None:
        return []
    for touch in reversed(touches):
        tie = _tie(touch, anchor.visitor_id, anchor.visit) if touch.kind == "click" else None
        if tie:
            promotion, seen = touch.promotion_id, touch.impression
            at_click = touch.event_id, touch.touched_at, touch.url, touch.referrer
            click = _Step("click", *at_click, promotion, tie)
            return [_Step("impression", *seen, promotion, "promotion"), click] if seen else [click]
    return []


def _tie(click: Touch, visitor: str, visit: Visit) -> str | None:
    """What ties a click to the visit of a visitor; None if nothing does."""
    if click.visitor_id == visitor and click.touched_at >= visit.at:
        return "session"
    if click.touched_at > visit.at or click.url is None:
        return None
    clicked = _page(click.url)
    if clicked == _page(visit.url):
        return "url"
    return "referrer" if clicked == _page(visit.referrer) else None


def _page(address: str | None) -> str | None:
    """An address without the place on the page."""
    return None if address is None else address.partition("#")[0]
