"""Refunds and cancellations: the hand-worked cases of refunds.yml through the folds."""

from collections.abc import Iterable
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
from kit.published_rows import publish_batches
from kit.records import NOON
from lakehouse.settings import load_settings

CASES = yaml.safe_load(Path(__file__).with_name("refunds.yml").read_text())
ORDERS = load_order_rules(load_settings().conf)
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
    assert sorted(uid for uid, row in rows.items() if row.over_refunded) == case.get("over", [])
    assert sum(row.is_counted for row in rows.values()) == case["conversions"]
    assert sum(row.reporting_value or 0 for row in rows.values()) == Decimal(str(case["net"]))
    one_by_one = publish_batches([[goal] for goal in goals], lambda some: fold_person(some, {}, (), 0, rules))
    assert sorted(one_by_one, key=str) == sorted(found.conversions, key=str)
    persons = {uid: rows[uid].person_id for uid in case.get("persons", {})}
    assert persons == case.get("persons", {})
