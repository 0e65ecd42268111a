"""The cases of trails.yml through both folds: events to touches and goals, and these to trails."""

import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from folds.persons.exchange_rates import ExchangeRates
from folds.persons.fold import PersonRows, PersonRules, fold_person
from folds.persons.records import Goal, PageView
from folds.persons.refunds import OrderRules
from folds.rule_numbers import RuleNumbers
from folds.visitors.events import PAGE_VIEW, Event
from folds.visitors.fold import find_credit_inputs
from folds.visitors.rules import VisitorRules
from folds.visitors.sessions import session_id
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
    """The events of a case; the UID of an event is its name unless `uids` gives another."""
    found = []
    for minute, name, *more in case["events"]:
        kind, _, page = name.partition(" ")
        uid = case.get("uids", {}).get(name, name)
        fields = {**KINDS[kind], "url": f"{SHOP}{page}" if page else None, **(more[0] if more else {})}
        found.append(event(NOON + minute * MINUTE, "ann", uid, **fields))
    return to_events(found)


def fold(events: list[Event], numbers: RuleNumbers) -> PersonRows:
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
        if each.role == PAGE_VIEW
    ]
    return fold_person(
        goals,
        {"ann": inputs.touches},
        pages,
        NOON,
        PersonRules.of(numbers, ExchangeRates([], "EUR"), ORDERS),
    )


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_trail_and_credit_match_hand_written_case(case: dict[str, Any]) -> None:
    events = events_of(case)
    random.Random(1).shuffle(events)
    names = {uid: name for name, uid in case.get("uids", {}).items()}
    rows = fold(events, RuleNumbers(**case.get("rules", {})))
    wanted = case.get("of", "order")
    (mine,) = (
        row.conversion_id for row in rows.conversions if names.get(row.event_id, row.event_id) == wanted
    )
    steps = [step for step in rows.trails if step.conversion_id == mine]
    assert [[names.get(step.event_id, step.event_id), step.matched_on] for step in steps] == case["trail"]
    assert [step.step for step in steps] == list(range(1, len(steps) + 1))
    if "credit" in case:
        credits_ = [
            (_name_of(row.touch_id, events), row.channel)
            for row in rows.attribution
            if row.model == "linear" and row.conversion_id == mine
        ]
        assert credits_ == list(case["credit"].items())


def _name_of(touch: str | None, events: list[Event]) -> str | None:
    """The event of a touch; the id of a session touch is derived from its first event's time."""
    return next((e.event_id for e in events if touch in (e.event_id, session_id("ann", e.event_time))), None)
