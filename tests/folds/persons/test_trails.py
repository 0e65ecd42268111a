"""The cases of trails.yml, through both folds: events to touches and goals, these to trails."""

import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from folds.persons.exchange_rates import ExchangeRates
from folds.persons.fold import PersonRules, fold_person
from folds.persons.records import Goal, PageView, TrailRow
from folds.persons.refunds import OrderRules
from folds.rule_numbers import RuleNumbers
from folds.visitors.events import PAGE_VIEWS, Event
from folds.visitors.fold import find_credit_inputs
from folds.visitors.rules import VisitorRules
from kit.histories import fold_history
from kit.oracle_wire import DAY, MINUTE
from kit.visitor_stories import NOON, event, to_events

CASES = yaml.safe_load(Path(__file__).with_name("trails.yml").read_text())
ORDERS = OrderRules({"Order Refunded": "Order Completed"}, {})
SHOP = "https://shop.example/"
KINDS: dict[str, dict[str, Any]] = {
    "page": {"type": "page", "role": "page_view"},
    "screen": {"type": "screen", "role": "page_view"},
    "seen": {"type": "track", "role": "impression", "promotion_id": "p"},
    "ad": {"type": "track", "role": "click", "promotion_id": "p", "channel": "Paid Social",
           "campaign_source": "facebook", "campaign_medium": "cpc", "has_context_campaign": True},
    "banner": {"type": "track", "role": "click", "promotion_id": "p"},
    "order": {"type": "track", "role": "goal", "goal": "Order Completed", "order_id": "1"},
    "refund": {"type": "track", "role": "goal", "goal": "Order Refunded", "order_id": "1"},
}  # fmt: skip


def events_of(case: dict[str, Any]) -> list[Event]:
    """The events; the UID is the name that the case has for it, if it gives no other."""
    found = []
    for minute, name, *more in case["events"]:
        kind, _, page = name.partition(" ")
        uid = case.get("uids", {}).get(name, name)
        fields = {**KINDS[kind], "url": f"{SHOP}{page}" if page else None, **(more[0] if more else {})}
        found.append(event(NOON + minute * MINUTE, "ann", uid, **fields))
    return to_events(found)


def trails(events: list[Event], numbers: RuleNumbers) -> list[TrailRow]:
    rules = VisitorRules.of(numbers)
    sessions = fold_history("ann", events, rules, NOON + 99 * DAY).sessions
    inputs = find_credit_inputs("ann", events, sessions, rules)
    fields = Goal._fields[:-1]
    goals = [
        Goal(**{name: getattr(goal, name, None) for name in fields if name != "person_id"}, person_id="ann")
        for goal in inputs.goals
    ]
    pages = [
        PageView(each.visitor_id, each.event_id, each.event_time, each.url, each.referrer)
        for each in events
        if each.type in PAGE_VIEWS
    ]
    rows = fold_person(
        goals,
        {"ann": inputs.touches},
        {"ann": pages},
        NOON,
        PersonRules.of(numbers, ExchangeRates([], "EUR"), ORDERS),
    )
    return list(rows.trails)


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_a_trail(case: dict[str, Any]) -> None:
    events = events_of(case)
    random.Random(1).shuffle(events)
    names = {uid: name for name, uid in case.get("uids", {}).items()}
    goal = "refund" if case.get("of") == "refund" else "order"
    wanted = trails(events, RuleNumbers(**case.get("rules", {})))
    last = {step.conversion_id: step.event_id for step in wanted}
    mine = [step for step in wanted if names.get(last[step.conversion_id], last[step.conversion_id]) == goal]
    assert [[names.get(step.event_id, step.event_id), step.matched_on] for step in mine] == case["trail"]
    assert [step.step for step in mine] == list(range(1, len(mine) + 1))
