"""Refunds stop at what is left of their order: against the oracle, in any order, with copies and splits."""

import random
from collections import defaultdict
from decimal import Decimal

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from folds.persons.exchange_rates import ExchangeRates
from folds.persons.fold import PersonRows, PersonRules, fold_person
from folds.persons.records import ConversionRow, Goal
from folds.persons.refunds import load_order_rules
from folds.rule_numbers import RuleNumbers
from kit.person_stories import PersonStory
from kit.published_rows import publish_batches
from kit.refund_stories import refund_stories
from lakehouse.settings import load_settings

ORDERS = load_order_rules(load_settings().conf)
ORDER, REFUND, CANCELLATION = "Order Completed", "Order Refunded", "Order Cancelled"
COMPARED = (
    *("event_id", "person_id", "value", "value_sent", "currency", "reporting_value"),
    *("over_refunded", "is_of_order", "is_counted", "touches"),
)
STORIES = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
CHANCE = st.randoms(use_true_random=False)


def fold(story: PersonStory, goals: list[Goal]) -> PersonRows:
    rules = PersonRules.of(RuleNumbers(), ExchangeRates(story.rates, "EUR"), ORDERS)
    return fold_person(goals, story.touches, (), story.gold.watermark, rules)


def by_id(rows: list[ConversionRow]) -> dict[str, ConversionRow]:
    keyed = {row.conversion_id: row for row in rows}
    assert len(keyed) == len(rows)
    return keyed


@STORIES
@given(refund_stories(), CHANCE)
def test_refunds_match_oracle_in_any_order_and_with_copies(story: PersonStory, chance: random.Random) -> None:
    goals = [*story.goals, *chance.choices(story.goals, k=3)]
    chance.shuffle(goals)
    found = by_id(fold(story, goals).conversions)
    expected = {row["conversion_id"]: row for row in story.gold.conversions}
    assert {key: [getattr(row, name) for name in COMPARED] for key, row in found.items()} == {
        key: [row[name] for name in COMPARED] for key, row in expected.items()
    }


@STORIES
@given(refund_stories(), CHANCE, st.integers(2, 6))
def test_late_goals_restate_refunds_to_the_same_rows(
    story: PersonStory, chance: random.Random, batches: int
) -> None:
    goals = [*story.goals, *chance.choices(story.goals, k=2)]
    chance.shuffle(goals)
    published = publish_batches(
        (goals[number::batches] for number in range(batches)), lambda some: fold(story, some)
    )
    assert by_id(published) == by_id(fold(story, story.goals).conversions)


@STORIES
@given(refund_stories())
def test_refunds_never_exceed_their_order(story: PersonStory) -> None:
    rows = fold(story, story.goals)
    same: dict[str | None, list[ConversionRow]] = defaultdict(list)
    for row in rows.conversions:
        same[row.order_id].append(row)
        assert_marked_where_cut(row)
    for each in same.values():
        assert_within_order(each)
    for row in rows.conversions:
        for name, value in (("credited_value", row.value), ("credited_reporting_value", row.reporting_value)):
            parts = [
                getattr(part, name)
                for part in rows.attribution
                if part.conversion_id == row.conversion_id and part.model == "linear"
            ]
            assert value == (None if None in parts else sum(parts))


def assert_marked_where_cut(row: ConversionRow) -> None:
    if row.value_sent is not None and row.goal == REFUND:
        assert row.value is not None
        assert row.value_sent <= row.value <= 0
        assert row.over_refunded == (row.value != row.value_sent)
    elif row.over_refunded:
        assert (row.goal, row.value) == (REFUND, 0)


def assert_within_order(rows: list[ConversionRow]) -> None:
    """In the order's currency, if all share it; else in EUR."""
    orders = [row for row in rows if row.goal == ORDER]
    refunds = [row for row in rows if row.goal == REFUND]
    if not orders or orders[0].value is None:
        assert not any(row.over_refunded for row in refunds)
        return
    codes = {(row.currency or "").upper() for row in refunds if row.value_sent}
    is_one = codes <= {(orders[0].currency or "").upper()}
    total, *taken = (
        row.value if is_one else row.reporting_value
        for row in (orders[0], *refunds, *(row for row in rows if row.goal == CANCELLATION))
    )
    if total is not None:
        assert -sum(each or Decimal(0) for each in taken) <= max(total, Decimal(0))
