"""Cancellations and refunds of orders, in full or in parts."""

from random import Random
from typing import Any

from millrace.sample_shop.action import Step
from millrace.sample_shop.visitors import Visitor

_DAY = 86_400.0
_CANCELLED = 0.05
_REFUNDED = 0.1
"""Shares of orders that are cancelled, and that are refunded."""


def returns_of(visitor: Visitor, order: dict[str, Any], bought_at: float, rng: Random) -> list[Step]:
    """Events that the shop's server sends in the days after an order; none for most orders.

    Args:
        visitor: the buyer.
        order: properties of the `Order Completed`.
        bought_at: simulated second of the order.
        rng: random generator.
    """
    fate = rng.random()
    if fate < _CANCELLED:
        return [_cancellation(visitor, order, bought_at + rng.uniform(0.002, 0.25) * _DAY)]
    if fate < _CANCELLED + _REFUNDED:
        return _refunds(visitor, order, bought_at, rng)
    return []


def _refunds(visitor: Visitor, order: dict[str, Any], bought_at: float, rng: Random) -> list[Step]:
    """A full refund, or one to three partial refunds, sometimes followed by a cancellation of the rest."""
    at = bought_at + rng.uniform(0.02, 0.8) * _DAY
    if rng.random() < 0.4:
        amount = {} if rng.random() < 0.2 else {"total": order["total"]}  # without an amount: the rest
        return [_refund(visitor, order, at, rng, amount)]
    steps = []
    for _ in range(rng.choices((1, 2, 3), (4, 4, 2))[0]):
        part = round(float(order["total"]) * rng.uniform(0.1, 0.3), 2)
        steps.append(_refund(visitor, order, at, rng, {"total": part}))
        at += rng.uniform(0.02, 0.5) * _DAY
    return [*steps, _cancellation(visitor, order, at)] if rng.random() < 0.15 else steps


def _refund(visitor: Visitor, order: dict[str, Any], at: float, rng: Random, amount: dict[str, Any]) -> Step:
    refund_id = f"r-{rng.getrandbits(40):010x}"
    return _sent_by_the_shop("Order Refunded", visitor, order, at, {"refund_id": refund_id, **amount})


def _cancellation(visitor: Visitor, order: dict[str, Any], at: float) -> Step:
    return _sent_by_the_shop("Order Cancelled", visitor, order, at, {"total": order["total"]})


def _sent_by_the_shop(
    name: str, visitor: Visitor, order: dict[str, Any], at: float, more: dict[str, Any]
) -> Step:
    properties = {"order_id": order["order_id"], "currency": order["currency"], **more}
    return Step(visitor, at, "track", name, properties, user_id=visitor.user_id, server=True)
