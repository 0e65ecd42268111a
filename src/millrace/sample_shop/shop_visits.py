"""Visits: browsing, searching, clicking and buying, or crawling."""

from random import Random

from millrace.sample_shop.acquisition import DIRECT, Origin, choose_origin
from millrace.sample_shop.action import Step
from millrace.sample_shop.catalogue import CATEGORIES, PRODUCTS
from millrace.sample_shop.checkout import check_out, impulse_buy, log_in, sign_up
from millrace.sample_shop.searches import search
from millrace.sample_shop.visit import Visit
from millrace.sample_shop.visitors import Visitor

_MORE = 0.72
"""Probability of another action after each action."""


def visit_shop(visitor: Visitor, at: float, rng: Random) -> list[Step]:
    """The steps of a person's visit, including later refunds or a cancellation."""
    visit = Visit(visitor, choose_origin(rng, visitor.last_seen is not None), at, rng)
    _land(visit)
    if rng.random() < 0.12:
        log_in(visit)
    while rng.random() < _MORE:
        visit.think(11)
        _wander(visit)
    if rng.random() < 0.015:
        sign_up(visit)
    if not visit.basket and rng.random() < 0.012:
        impulse_buy(visit)
    later = check_out(visit) if visit.basket and rng.random() < 0.25 else []
    visitor.last_seen = visit.now
    return [*visit.steps, *later]


def crawl(visitor: Visitor, at: float, rng: Random, pages: int, seconds_apart: float) -> list[Step]:
    """The steps of a bot's visit: consecutive page views at a regular pace."""
    visit = Visit(visitor, DIRECT, at, rng)
    visitor.is_app = False
    for _ in range(pages):
        product = PRODUCTS.choose(rng)
        visit.look_at(product.path, product.name.title())
        visit.now += seconds_apart * rng.uniform(0.8, 1.2)
    return visit.steps


def leftovers(visitor: Visitor, now: float, rng: Random) -> list[Step]:
    """Steps that a device could not send in an earlier visit, and sends in this one."""
    if visitor.last_seen is None or visitor.last_seen > now:
        at = now - rng.uniform(900.0, 172_800.0)
    else:
        at = visitor.last_seen + rng.uniform(-60.0, 2400.0)
    visit = Visit(visitor, Origin(), min(at, now - 60.0), rng)
    for _ in range(rng.choices((1, 2, 3), (6, 3, 1))[0]):
        visit.browse_category()
        visit.think(11)
    return visit.steps


def _land(visit: Visit) -> None:
    where = visit.rng.random()
    if where < 0.45:
        visit.look_at("/", "Home")
        visit.see_promotions(2)
    elif where < 0.65:
        category = CATEGORIES.choose(visit.rng)
        visit.look_at(f"/c/{category}", category.title())
        visit.see_promotions(1)
    elif where < 0.92:
        visit.view_product(PRODUCTS.choose(visit.rng))
    else:
        visit.look_at("/journal/ten-quiet-lamps", "Ten quiet lamps")


def _wander(visit: Visit) -> None:
    where = visit.rng.random()
    if where < 0.42:
        visit.view_product(PRODUCTS.choose(visit.rng))
    elif where < 0.62:
        visit.browse_category()
        if visit.rng.random() < 0.3:
            visit.see_promotions(1)
    elif where < 0.82:
        search(visit)
    elif where < 0.92:
        visit.look_at("/", "Home")
        visit.see_promotions(2)
    else:
        visit.look_at("/delivery", "Delivery and returns")
