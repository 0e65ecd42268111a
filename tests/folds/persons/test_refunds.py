"""Refunds and cancellations: the hand-worked cases of refunds.yml through the folds."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from folds.persons.exchange_rates import ExchangeRates, Rate
from folds.persons.fold import PersonRules, fold_person
from folds.persons.records import ConversionRow, Goal
from folds.persons.refunds import load_order_rules
from folds.rule_numbers import RuleNumbers
from folds.visitors.events import Event
from folds.visitors.goals import read_goals
from folds.visitors.sessions import SessionIndex
from kit.oracle_wire import DAY, micros
from kit.parser import parse
from kit.published_rows import publish_batches
from kit.records import NOON, Record, message, record
from lakehouse.settings import load_settings

CASES = yaml.safe_load(Path(__file__).with_name("refunds.yml").read_text())
ORDERS = load_order_rules(load_settings().conf)
DAYS = timedelta(days=1)
GOALS = {"order": "Order Completed", "refund": "Order Refunded", "cancellation": "Order Cancelled"}


def micros_of_day(day: float) -> int:
    return micros(NOON) + round(day * DAY)


def event_of(row: dict[str, Any]) -> Event:
    amount, currency = [*str(row.get("worth", "")).split(), None, None][:2]
    order = row.get("order", "A")
    return Event(
        event_id=row["uid"],
        type="track",
        role="goal",
        visitor_id=row.get("by", "ann"),
        event_time=micros_of_day(row.get("day", 0)),
        goal=GOALS[row["is"]],
        order_id=None if order == "none" else order,
        refund_id=row.get("refund"),
        value=None if amount is None else Decimal(amount).quantize(Decimal("0.0001")),
        currency=row.get("in", currency),
    )


def goals_of(events: Iterable[Event]) -> list[Goal]:
    goals = read_goals(events, SessionIndex([]), ORDERS.refunds.keys())
    return [
        Goal(**goal._asdict(), person_id=None if goal.visitor_id == "bot" else goal.visitor_id)
        for goal in goals
    ]


def rates_of(case: dict[str, Any]) -> ExchangeRates:
    rates = []
    for currency, by_day in case.get("rates", {}).items():
        days = [*by_day, None]
        for since, until in pairwise(days):
            rate = Decimal(str(by_day[since])).quantize(Decimal("1e-10"))
            rates.append(
                Rate(currency, rate, micros_of_day(since), None if until is None else micros_of_day(until))
            )
    return ExchangeRates(rates, "EUR")


def sent_by(row: dict[str, Any]) -> tuple[str, Decimal | None]:
    """UID and amount of an event, negative for a refund."""
    event = event_of(row)
    if row["is"] == "refund" and event.value is not None:
        return event.event_id, -abs(event.value)
    return event.event_id, event.value


def worth(row: ConversionRow) -> str:
    """The value as the cases write it."""
    if row.value is None:
        assert row.reporting_value is None
        return "unknown"
    value = f"{_plain(row.value)} {row.currency or ''}".strip()
    if row.reporting_value == row.value and row.currency == "EUR":
        return value
    return f"{value} = {'unknown' if row.reporting_value is None else _plain(row.reporting_value)}"


def _plain(amount: Decimal) -> str:
    return f"{amount.normalize() + 0:f}"


@pytest.mark.parametrize("order", ["forwards", "backwards"])
@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_refund_values_match_hand_worked_case(case: dict[str, Any], order: str) -> None:
    goals = goals_of(map(event_of, case["events"]))[:: 1 if order == "forwards" else -1]
    rules = PersonRules.of(RuleNumbers(), rates_of(case), ORDERS)
    found = fold_person(goals, {}, (), 0, rules)
    rows = {row.event_id: row for row in found.conversions}
    assert len(rows) == len(found.conversions)
    assert {uid: worth(row) for uid, row in rows.items()} == {
        uid: str(wanted) for uid, wanted in case["expect"].items()
    }
    starts = {uid: row.rate_valid_from for uid, row in rows.items() if row.rate_valid_from is not None}
    assert starts == {uid: micros_of_day(day) for uid, day in case.get("since", {}).items()}
    assert sorted(uid for uid, row in rows.items() if row.over_refunded) == case.get("over", [])
    assert {uid: row.value_sent for uid, row in rows.items()} == {
        uid: sent for uid, sent in map(sent_by, case["events"]) if uid in rows
    }
    assert sum(row.is_counted for row in rows.values()) == case["conversions"]
    assert sum(row.reporting_value or 0 for row in rows.values()) == Decimal(str(case["net"]))
    one_by_one = publish_batches([[goal] for goal in goals], lambda some: fold_person(some, {}, (), 0, rules))
    assert sorted(one_by_one, key=str) == sorted(found.conversions, key=str)
    persons = {uid: rows[uid].person_id for uid in case.get("persons", {})}
    assert persons == case.get("persons", {})


SENT = (
    ("a", "Order Completed", 1, {"order_id": "A", "total": 50, "currency": "EUR"}),
    ("a", "Order Refunded", 2, {"order_id": "A", "refund_id": "r1", "total": 15, "currency": "eur"}),
    ("a", "Order Refunded", 3, {"order_id": "A", "refund_id": "r2"}),
    ("b", "Order Completed", 1, {"order_id": "B", "total": 50, "currency": "EUR"}),
    ("b", "Order Refunded", 2, {"order_id": "B", "refund_id": "r1", "total": 15, "currency": "EUR"}),
    ("b", "Order Refunded", 3, {"order_id": "B", "refund_id": "r2", "total": 50, "currency": "EUR"}),
    ("c", "Order Refunded", 0, {"order_id": "C", "refund_id": "r1", "total": -5, "currency": "EUR"}),
    ("c", "Order Completed", 1, {"order_id": "C", "total": "20.00", "currency": "EUR"}),
    ("d", "Order Completed", 1, {"order_id": "D", "total": 30, "currency": "EUR"}),
    ("d", "Order Refunded", 2, {"order_id": "D", "refund_id": "r1", "total": 0, "currency": "EUR"}),
    ("e", "Order Completed", 1, {"order_id": "E", "total": 30, "currency": "EUR"}),
    ("e", "Order Refunded", 2, {"order_id": "E", "total": 10, "currency": "EUR"}),
    ("e", "Order Refunded", 3, {"order_id": "E", "revenue": 10, "currency": "EUR"}),
)
"""Visitor, name, day and properties of events that an order's shop sends."""


def test_orders_are_worth_what_refunds_as_sent_leave() -> None:
    events = [
        event_of_record(record(message(f"uid-{number}", visitor, name, NOON + day * DAYS, properties=sent)))
        for number, (visitor, name, day, sent) in enumerate(SENT)
    ]
    rows = fold_person(goals_of(events), {}, (), 0, PersonRules.of(RuleNumbers(), rates_of({}), ORDERS))
    sums: dict[str | None, Decimal] = defaultdict(Decimal)
    for row in rows.conversions:
        sums[row.order_id] += row.value or 0
    assert sums == {"A": 0, "B": 0, "C": 15, "D": 30, "E": 10}
    (cut,) = (row for row in rows.conversions if row.over_refunded)
    assert (cut.event_id, cut.value, cut.value_sent) == ("uid-5", -35, -50)


def event_of_record(sent: Record) -> Event:
    (row,) = parse([sent])
    return Event(**{name: row[name] for name in Event._fields if name in row})
