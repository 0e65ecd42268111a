"""View-through: the cases of view_through.yml, and the choice among several impressions."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from folds.rule_numbers import RuleNumbers
from folds.visitors.events import Event
from folds.visitors.fold import find_credit_inputs
from folds.visitors.rules import VisitorRules
from folds.visitors.views import View
from kit.histories import fold_history
from kit.oracle_wire import DAY, MINUTE
from kit.visitor_stories import NOON, event, to_events

CASES = yaml.safe_load(Path(__file__).with_name("view_through.yml").read_text())
RULES = VisitorRules.of(RuleNumbers())
HOUR = 60 * MINUTE
SEEN = {"type": "track", "role": "impression", "promotion_id": "spring"}


def campaign(fields: dict[str, str]) -> dict[str, str]:
    return {f"campaign_{name}": value for name, value in fields.items()}


def view_of(events: list[Event], landing: str = "z-landing") -> View | None:
    """The view of the visit that an event starts."""
    sessions = fold_history("a", events, RULES, NOON + 9 * DAY).sessions
    touches = find_credit_inputs("a", events, sessions, RULES).touches
    return next((touch.view for touch in touches if touch.event_id == landing), None)


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_visit_has_expected_view_through_match(case: dict[str, Any]) -> None:
    landed = round(case["hours"] * HOUR)
    events = [
        event(NOON, "a", "seen", **SEEN, **campaign(case.get("seen", {}))),
        event(NOON + landed, "a", "z-landing", **campaign(case["landing"])),
    ]
    if "clicked" in case:
        click = {**SEEN, "role": "click", "promotion_id": "another", "has_context_campaign": True}
        events.append(event(NOON + round(case["clicked"] * HOUR), "a", "click", **click))
    view = view_of(to_events(events))
    assert (view and view.matched_on) == case["matched"]
    assert view is None or (view.event_id, view.at, view.promotion_id) == ("seen", NOON, "spring")


def test_view_through_uses_latest_impression_then_larger_uid() -> None:
    times = {"c": 0, "a": 1, "b": 1}
    events = [event(NOON + at, "a", uid, **SEEN) for uid, at in times.items()]
    events.append(event(NOON + HOUR, "a", "z-landing", campaign_name="spring"))
    view = view_of(to_events(events))
    assert view is not None
    assert view.event_id == "b"


@pytest.mark.parametrize(
    ("of_impression", "channel"),
    [
        ({}, "Display"),
        ({"channel": "Email", "campaign_medium": "email"}, "Email"),
        ({"channel": "Referral"}, "Display"),
    ],
)
def test_view_channel_is_impression_campaign_channel_else_display(
    of_impression: dict[str, str], channel: str
) -> None:
    events = [
        event(NOON, "a", "seen", **{**SEEN, **of_impression}),
        event(NOON + HOUR, "a", "z-landing", campaign_name="spring", channel="Paid Search"),
    ]
    view = view_of(to_events(events))
    assert view is not None
    assert view.channel == channel
