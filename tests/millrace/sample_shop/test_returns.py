"""Refunds and cancellations of the sample shop: valid events, and never above the order's total."""

from collections import Counter
from random import Random
from typing import Any

import pytest

from millrace.sample_shop.action import Step
from millrace.sample_shop.returns import returns_of
from millrace.sample_shop.visitors import Crowd

ORDERS = 4000
BOUGHT_AT = 1_772_400_000.0


def order(number: int) -> dict[str, Any]:
    total = 20.0 + number % 90
    return {"order_id": f"o-{number}", "total": total if number % 7 else f"{total:.2f}", "currency": "GBP"}


@pytest.fixture(scope="module")
def returned() -> list[list[Step]]:
    """The refunds and cancellations of each order."""
    rng = Random(5)
    visitor = Crowd(rng).choose()
    return [returns_of(visitor, order(number), BOUGHT_AT, rng) for number in range(ORDERS)]


def names(steps: list[Step]) -> Counter[str]:
    return Counter(step.name for step in steps)


def test_most_orders_are_kept_and_some_cancelled_or_refunded(returned: list[list[Step]]) -> None:
    kept, cancelled, refunded = (
        sum(test(names(steps)) for steps in returned) / ORDERS
        for test in (
            lambda each: not each,
            lambda each: set(each) == {"Order Cancelled"},
            lambda each: "Order Refunded" in each,
        )
    )
    assert 0.8 < kept < 0.9
    assert 0.04 < cancelled < 0.06
    assert 0.08 < refunded < 0.12


def test_order_is_refunded_once_or_in_up_to_three_parts(returned: list[list[Step]]) -> None:
    several = Counter(names(steps)["Order Refunded"] for steps in returned)
    assert set(several) == {0, 1, 2, 3}
    assert all(several[count] > 20 for count in (1, 2, 3))
    assert any(names(steps) == {"Order Refunded": 2, "Order Cancelled": 1} for steps in returned)


def test_refund_ids_are_unique_and_returns_reference_their_order(returned: list[list[Step]]) -> None:
    refunds = [step for steps in returned for step in steps if step.name == "Order Refunded"]
    assert len({step.properties["refund_id"] for step in refunds}) == len(refunds)
    for number, steps in enumerate(returned):
        for step in steps:
            assert step.properties["order_id"] == f"o-{number}"
            assert step.properties["currency"] == "GBP"
            assert step.server
        assert names(steps)["Order Cancelled"] <= 1


def test_refunds_never_exceed_order_total(returned: list[list[Step]]) -> None:
    without = 0
    for number, steps in enumerate(returned):
        refunds = [step.properties for step in steps if step.name == "Order Refunded"]
        without += sum("total" not in each for each in refunds)
        given_back = sum(float(each.get("total", 0)) for each in refunds)
        assert given_back <= float(order(number)["total"]) + 1e-9
    assert without > 10, "some have no amount: what is left of the order"


def test_returns_follow_their_order_in_sequence_within_three_days(returned: list[list[Step]]) -> None:
    for steps in returned:
        times = [BOUGHT_AT, *(step.at for step in steps)]
        assert times == sorted(set(times))
        assert times[-1] < BOUGHT_AT + 3 * 86_400


def test_returns_are_deterministic_by_seed() -> None:
    visitor = Crowd(Random(1)).choose()

    def returns(seed: int) -> list[list[tuple[str, float, dict[str, Any]]]]:
        rng = Random(seed)
        found = (returns_of(visitor, order(number), BOUGHT_AT, rng) for number in range(200))
        return [[(step.name, step.at, step.properties) for step in steps] for steps in found]

    assert returns(3) == returns(3) != returns(4)
