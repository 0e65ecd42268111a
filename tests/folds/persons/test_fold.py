"""The person fold against the oracle on generated stories."""

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from folds.persons.exchange_rates import ExchangeRates
from folds.persons.fold import PersonRows, PersonRules, fold_person
from folds.persons.records import (
    AttributionRow,
    ConversionRow,
    Goal,
    Impression,
    Touch,
    TrailRow,
    View,
    Visit,
)
from folds.persons.refunds import OrderRules
from folds.rule_numbers import RuleNumbers
from kit.oracle_credit import allocate
from kit.person_stories import PersonStory, person_stories
from kit.published_rows import publish_batches
from lakehouse.contracts.gold import ATTRIBUTION, CONVERSIONS, TOUCHES, TRAILS
from lakehouse.contracts.table import Table

ORDERS = OrderRules({"Order Refunded": "Order Completed"}, {"Order Cancelled": "Order Completed"})
STORIES = settings(max_examples=750, deadline=None, suppress_health_check=list(HealthCheck))


def rules_of(story: PersonStory) -> PersonRules:
    numbers = RuleNumbers(view_through=story.gold.choices.view_through)
    person_level = frozenset(story.gold.choices.person_level)
    return PersonRules.of(numbers, ExchangeRates(story.rates, "EUR"), ORDERS, person_level)


def fold(story: PersonStory, chance: random.Random | None = None) -> PersonRows:
    goals, touches = list(story.goals), {person: list(each) for person, each in story.touches.items()}
    pages = list(story.pages)
    if chance:
        for rows in (goals, *touches.values(), pages):
            chance.shuffle(rows)
    return fold_person(goals, touches, pages, story.gold.watermark, rules_of(story))


def plain(row: Any) -> dict[str, Any]:
    return {
        name: plain(value) if hasattr(value, "_fields") else value for name, value in row._asdict().items()
    }


def by_key(rows: list[dict[str, Any]], table: Table) -> dict[tuple[Any, ...], dict[str, Any]]:
    keyed = {tuple(row[name] for name in table.key): row for row in rows}
    assert len(keyed) == len(rows)
    return keyed


def without_version(rows: list[Any], table: Table) -> dict[tuple[Any, ...], dict[str, Any]]:
    reported = [plain(row) for row in rows]
    for row in reported:
        row.pop("rules_version", None)
    return by_key(reported, table)


@STORIES
@given(story=person_stories(), chance=st.randoms(use_true_random=False))
def test_person_fold_matches_oracle_in_any_order(story: PersonStory, chance: random.Random) -> None:
    rows, gold = fold(story, chance), story.gold
    assert without_version(rows.conversions, CONVERSIONS) == by_key(gold.conversions, CONVERSIONS)
    columns = list(TrailRow._fields)
    trails = [{name: step[name] for name in columns} for step in gold.trails]
    assert without_version(rows.trails, TRAILS) == by_key(trails, TRAILS)
    assert_same_attribution(rows, story)


def assert_same_attribution(rows: PersonRows, story: PersonStory) -> None:
    """Compare credits to 12 digits, and values as the oracle allocates them by these credits."""
    values = {row.conversion_id: (row.value, row.reporting_value) for row in rows.conversions}
    expected = by_key(story.gold.attribution, ATTRIBUTION)
    found = without_version(rows.attribution, ATTRIBUTION)
    credits_: dict[tuple[str, str], list[float]] = {}
    for key in sorted(found):
        credits_.setdefault(key[:2], []).append(found[key]["credit"])
    for key, row in expected.items():
        shares = credits_[key[:2]]
        assert sum(shares) == pytest.approx(1, abs=1e-9)
        assert found[key]["credit"] == pytest.approx(row["credit"], rel=1e-12)
        row["credit"] = found[key]["credit"]
        index = max(row["position"] - 1, 0)
        row["credited_value"], row["credited_reporting_value"] = (
            allocate(value, shares)[index] for value in values[row["conversion_id"]]
        )
    assert found == expected


@settings(STORIES, max_examples=300)
@given(story=person_stories())
def test_goals_of_different_orders_can_be_folded_separately(story: PersonStory) -> None:
    whole = fold(story)
    parts: tuple[list[Any], ...] = ([], [], [])
    groups: dict[str, list[Goal]] = {}
    for goal in story.goals:
        groups.setdefault(goal.order_id or goal.conversion_id, []).append(goal)
    for goals in groups.values():
        for rows, more in zip(
            parts,
            fold_person(goals, story.touches, story.pages, story.gold.watermark, rules_of(story)),
            strict=True,
        ):
            rows.extend(more)
    assert [sorted(rows, key=str) for rows in parts] == [sorted(rows, key=str) for rows in whole]


@settings(STORIES, max_examples=500)
@given(story=person_stories(), chance=st.randoms(use_true_random=False), batches=st.integers(2, 5))
def test_fold_over_published_rows_equals_fold_over_all_events(
    story: PersonStory, chance: random.Random, batches: int
) -> None:
    goals = list(story.goals)
    chance.shuffle(goals)
    rules, touches, watermark = rules_of(story), story.touches, story.gold.watermark
    published = publish_batches(
        (goals[number::batches] for number in range(batches)),
        lambda some: fold_person(some, touches, (), watermark, rules),
    )
    assert sorted(published, key=str) == sorted(fold(story).conversions, key=str)


def test_row_fields_match_table_columns() -> None:
    for kind, table in (
        (Touch, TOUCHES),
        (ConversionRow, CONVERSIONS),
        (AttributionRow, ATTRIBUTION),
        (TrailRow, TRAILS),
    ):
        assert kind._fields == table.column_names
    for struct, column in ((Visit, "visit"), (Impression, "impression"), (View, "view")):
        table = CONVERSIONS if struct is Visit else TOUCHES
        kind = next(each.type for each in table.columns if each.name == column)
        assert [part.split(":")[0] for part in kind[len("struct<") : -1].split(", ")] == list(struct._fields)
