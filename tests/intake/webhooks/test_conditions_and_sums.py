"""Mappings of webhooks: conditions, settings of one name, and sums over lists."""

import json
from datetime import datetime, timezone
from decimal import Decimal, localcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intake.event_settings import Events
from intake.webhooks.amounts import exact_sum
from intake.webhooks.mapping import Arrival, map_event
from kit.parser import parse
from kit.records import Record

ARRIVED_AT = datetime(2026, 6, 1, 12, tzinfo=timezone.utc)
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**12), max_value=10**12)


def mapped(body: object, **events: Any) -> dict[str, Any]:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    value = map_event(Arrival("s", raw, ARRIVED_AT, name="order"), Events.model_validate(events)).value
    found: dict[str, Any] = json.loads(value)
    return found


def name_when(when: object, body: object) -> str:
    """The name of an event whose translation depends on a condition."""
    name: str = mapped(body, names={"order": "Order Completed"}, when=when)["event"]
    return name


@pytest.mark.parametrize(
    ("allowed", "values", "others"),
    [
        ("paid", ["paid"], ["unpaid", "Paid", "", None, ["paid"], {"paid": 1}]),
        (["paid", "free"], ["paid", "free"], ["unpaid", 1]),
        (False, [False, "false"], [True, 0, None, "False"]),
        (True, [True], [False, 1]),
        (200, [200, "200"], [201, "200.0", 2000]),
        (12345678901234567890, [12345678901234567890], [12345678901234567891]),
        ([False, None], [False, None, ""], [True, 0, [], {}]),
        (None, [None, ""], ["null", 0, False]),
    ],
)
def test_condition_allows_one_value_or_several(
    allowed: object, values: list[object], others: list[object]
) -> None:
    assert [name_when({"a.b": allowed}, {"a": {"b": value}}) for value in values] == (
        ["Order Completed"] * len(values)
    )
    assert [name_when({"a.b": allowed}, {"a": {"b": value}}) for value in others] == ["order"] * len(others)


def test_all_conditions_have_to_be_met_and_null_allows_a_missing_field() -> None:
    when = {"state": ["paid", "free"], "test": [False, None], "lines.0.kind": "sale"}
    assert name_when(when, {"state": "free", "lines": [{"kind": "sale"}]}) == "Order Completed"
    for body in (
        {"state": "free", "lines": []},
        {"state": "open", "lines": [{"kind": "sale"}]},
        {"state": "paid", "lines": [{"kind": "sale"}], "test": True},
        {"lines": [{"kind": "sale"}]},
        [],
        "paid",
    ):
        assert name_when(when, body) == "order"


def test_event_that_is_not_translated_keeps_its_body_and_counts_as_nothing() -> None:
    body = {"state": "open", "total": "5.00"}
    found = mapped(
        body, names={"order": "Order Completed"}, when={"state": "paid"}, properties={"total": "total"}
    )
    assert found["properties"] == {"total": "5.00", "original": body}
    (row,) = parse([Record(json.dumps(found).encode(), timestamp=ARRIVED_AT)])
    assert (row["reason"], row["role"], row["goal"]) == (None, "other", None)


def test_provider_that_uses_our_event_name_is_not_translated_either() -> None:
    body = {"kind": "Order Completed", "state": "open"}
    assert mapped(body, name="kind", when={"state": "paid"})["event"] == "s"
    assert mapped(body, name="kind", when={"state": "open"})["event"] == "Order Completed"


def test_settings_of_a_name_replace_those_of_all_events() -> None:
    refunded = {
        "event": "Order Refunded",
        "when": {"state": "done"},
        "user": "payer",
        "time": "done_at",
        "properties": {"order_id": "of", "currency": "money.unit"},
        "minor_units": {"total": "money.amount"},
    }
    events: dict[str, Any] = {
        "name": "kind",
        "names": {"sold": "Order Completed", "returned": refunded},
        "when": {"state": "paid"},
        "user": "buyer",
        "time": "paid_at",
        "properties": {"order_id": "id", "currency": "unit", "total": "total"},
    }
    sold = mapped({"kind": "sold", "state": "paid", "buyer": 7, "id": 1, "unit": "eur", "total": 5}, **events)
    assert (sold["event"], sold["userId"]) == ("Order Completed", "7")
    assert sold["properties"] | {"original": 0} == {
        "order_id": 1,
        "currency": "EUR",
        "total": 5,
        "original": 0,
    }
    body = {
        "kind": "returned",
        "state": "done",
        "buyer": 7,
        "payer": 8,
        "id": 2,
        "of": 1,
        "total": 5,
        "paid_at": 1,
        "done_at": 1780311600,
        "money": {"unit": "jpy", "amount": 300},
    }
    returned = mapped(body, **events)
    assert (returned["event"], returned["userId"]) == ("Order Refunded", "8")
    assert returned["timestamp"] == "2026-06-01T11:00:00.000000Z"
    kept = {"order_id": 1, "currency": "JPY", "total": "300"}
    assert returned["properties"] == {**kept, "original": body}
    assert mapped({**body, "state": "paid"}, **events)["event"] == "returned"


SUMS = {"total": {"list": "data.items", "of": "price.amount"}}


@pytest.mark.parametrize(
    ("items", "total"),
    [
        ([], "0"),
        ([{"price": {"amount": "10.00"}}, {"price": {"amount": "5.00"}}], "15.00"),
        ([{"price": {"amount": 0.1}}, {"price": {"amount": 0.2}}], "0.3"),
        ([{"price": {"amount": "1.5"}}, {"price": {"amount": 2}}, {"price": {"amount": "-0.505"}}], "2.995"),
        ([{"price": {"amount": " 7 "}}, {"price": {"amount": "+1"}}], "8"),
        ([{"price": {"amount": "-0.40"}}, {"price": {"amount": "0.15"}}], "-0.25"),
        ([{"price": {"amount": "9007199254740993"}}, {"price": {"amount": "0.01"}}], "9007199254740993.01"),
        ([{"price": {"amount": None}}, {"price": {}}, {}, 4, {"price": {"amount": ""}}], "0"),
    ],
)
def test_sum_is_exact_and_of_an_empty_list_zero(items: list[object], total: str) -> None:
    assert mapped({"data": {"items": items}}, sums=SUMS)["properties"]["total"] == total


@pytest.mark.parametrize(
    "body", [{}, {"data": None}, {"data": {"items": None}}, {"data": {"items": {"0": 1}}}]
)
def test_sum_is_left_out_without_a_list(body: object) -> None:
    assert mapped(body, sums=SUMS)["properties"].keys() == {"original"}


@pytest.mark.parametrize("amount", ["6,795", "ten", "1e3", "9" * 41, {"cents": 5}, [1], True])
def test_sum_with_an_unreadable_amount_is_that_amount(amount: object) -> None:
    items = [{"price": {"amount": "10.00"}}, {"price": {"amount": amount}}]
    assert mapped({"data": {"items": items}}, sums=SUMS)["properties"]["total"] == amount


def test_elements_of_a_sum_may_have_to_meet_conditions() -> None:
    sums = {"total": {"list": "paid", "of": "amount", "when": {"state": ["success", None]}}}
    items = [{"amount": "1", "state": "success"}, {"amount": "2", "state": "failure"}, {"amount": "4"}]
    assert mapped({"paid": items}, sums=sums)["properties"]["total"] == "5"


def test_sum_of_minor_units_is_converted_by_currency() -> None:
    events = {
        "properties": {"currency": "unit"},
        "minor_units": {"total": {"list": "refunds", "of": "amount"}},
    }
    for unit, refunds, total in (
        ("kwd", [{"amount": 1999}, {"amount": 1}], "2.000"),
        ("jpy", [{"amount": 500}], "500"),
        ("eur", [], "0.00"),
    ):
        assert mapped({"unit": unit, "refunds": refunds}, **events)["properties"]["total"] == total
    with_fraction = mapped({"unit": "eur", "refunds": [{"amount": "1.5"}]}, **events)
    assert "total" not in with_fraction["properties"]


@given(st.lists(DECIMALS, max_size=20), st.randoms(use_true_random=False))
def test_sum_does_not_depend_on_order_or_split(numbers: list[Decimal], rng: Any) -> None:
    texts = [f"{number:f}" for number in numbers]
    with localcontext() as context:
        context.prec = 60
        assert Decimal(exact_sum(texts)) == sum(numbers)
    shuffled = rng.sample(texts, len(texts))
    assert exact_sum(shuffled) == exact_sum(texts)
    cut = rng.randrange(len(texts) + 1)
    parts = [exact_sum(texts[:cut]), exact_sum(texts[cut:])]
    assert exact_sum(parts) == exact_sum(texts)
