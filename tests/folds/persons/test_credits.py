"""The hand-worked cases of credits.yml through the person fold."""

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from folds.persons.exchange_rates import ExchangeRates
from folds.persons.fold import PersonRules, fold_person
from folds.persons.models import MODELS
from folds.persons.records import Goal, Touch
from folds.persons.refunds import OrderRules
from folds.rule_numbers import RuleNumbers
from kit.oracle_wire import micros
from kit.records import NOON

CASES = yaml.safe_load(Path(__file__).with_name("credits.yml").read_text())
ORDERS = OrderRules({"Order Refunded": "Order Completed"}, {"Order Cancelled": "Order Completed"})
RULES = PersonRules.of(RuleNumbers(), ExchangeRates([], "EUR"), ORDERS)
Shares = dict[tuple[str, str], dict[str | None, Decimal | None]]


def touches_of(case: dict[str, Any]) -> list[Touch]:
    found = []
    for name, text in case["touches"].items():
        days, channel = text.split(" ", 1)
        blank = Touch(*([None] * len(Touch._fields)))
        at = micros(NOON - timedelta(days=float(days)))
        found.append(blank._replace(touch_id=name, touched_at=at, channel=channel, kind="visit"))
    return found


def goals_of(case: dict[str, Any]) -> list[Goal]:
    found = []
    for each in case["conversions"]:
        value = None if each["value"] is None else Decimal(str(each["value"])).quantize(Decimal("0.0001"))
        blank = Goal(*([None] * (len(Goal._fields) - 1)))
        found.append(
            blank._replace(
                conversion_id=each["goal"],
                event_id=each["goal"],
                person_id="person",
                goal=each["goal"],
                order_id=each.get("order"),
                converted_at=micros(NOON + timedelta(days=each.get("days after noon", 0))),
                value=value,
                currency="EUR",
            )
        )
    return found


def shares_of(case: dict[str, Any]) -> Shares:
    """The credited value of each touch, by goal and model."""
    found: Shares = {}
    rows = fold_person(goals_of(case), {"person": touches_of(case)}, (), 0, RULES).attribution
    for row in sorted(rows, key=lambda row: row.position):
        assert row.credited_value == row.credited_reporting_value
        assert (row.touch_id is None) == (row.position == 0)
        assert row.touch_id is not None or row.channel == "Direct"
        found.setdefault((row.conversion_id, row.model), {})[row.touch_id] = row.credited_value
    return found


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_credits_match_hand_worked_case(case: dict[str, Any]) -> None:
    shares, compared = shares_of(case), 0
    for goal, expected in case["expect"].items():
        for models, wanted in expected.items():
            for model in models.split(", "):
                credit = {
                    name: None if value is None else Decimal(str(value)) for name, value in wanted.items()
                }
                assert shares[goal, model] == credit, (goal, model)
                assert list(shares[goal, model]) == sorted(credit, key=str), (goal, model)
                compared += 1
    assert compared


def test_hand_worked_cases_cover_every_model() -> None:
    named = {
        name
        for case in CASES
        for expected in case["expect"].values()
        for models in expected
        for name in models.split(", ")
    }
    assert named == set(MODELS)
