"""On-site promotions: the cases of on_site_promotions.yml, and the touches of a visit that one starts."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from folds.rule_numbers import RuleNumbers
from folds.visitors.events import Event
from folds.visitors.fold import find_credit_inputs
from folds.visitors.promotions import has_context_campaign
from folds.visitors.rules import VisitorRules
from folds.visitors.touches import Touch
from kit.histories import fold_history
from kit.oracle_wire import DAY, MINUTE
from kit.parser import CHANNELS, outcome_of
from kit.records import message, record
from kit.visitor_stories import NOON
from lakehouse.timestamps import from_micros

CASES = yaml.safe_load(Path(__file__).with_name("on_site_promotions.yml").read_text())
OWN = type(CHANNELS.own)({"pay.example": "own"})


def parsed_event(name: str, at: int, url: str | None, campaign: Any = None) -> Event:
    """An event after parsing."""
    kind = {"properties": {"promotion_id": "p"}} if name.startswith("Promotion") else {}
    body = message(f"{name}-{at}", "ann", name, from_micros(NOON + at), **kind)
    parsed = outcome_of(record({**body, "context": {"page": {"url": url}, "campaign": campaign}}))
    return Event(**{name: getattr(parsed, name) for name in Event._fields if hasattr(parsed, name)})


def touches(*events: Event, credit: bool = False) -> list[Touch]:
    rules = VisitorRules.of(RuleNumbers(on_site_promotions="credit" if credit else "none"), own_hosts=OWN)
    sessions = fold_history("ann", events, rules, NOON + DAY).sessions
    return find_credit_inputs("ann", events, sessions, rules).touches


@pytest.mark.parametrize("credit", [False, True])
@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_promotion_click_has_expected_channel_and_credit(case: dict[str, Any], credit: bool) -> None:
    landing = parsed_event("page", 0, case["landing"], case.get("landing campaign"))
    click = parsed_event("Promotion Clicked", MINUTE, case["url"], case.get("campaign"))
    clicked, visit = touches(landing, click, credit=credit)
    assert (clicked.kind, clicked.channel) == ("click", case["channel"])
    assert clicked.earns_credit == (credit or case["channel"] != "On-site")
    assert (visit.kind, visit.earns_credit) == ("visit", True)


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_context_campaign_of_older_row_is_inferred_from_url(case: dict[str, Any]) -> None:
    """This cannot be inferred where context and URL have the same campaign."""
    click = parsed_event("Promotion Clicked", MINUTE, case["url"], case.get("campaign"))
    assert has_context_campaign(click._replace(has_context_campaign=None)) == bool(case.get("campaign"))


@pytest.mark.parametrize("credit", [False, True])
def test_visit_starting_with_on_site_click_has_its_own_touch(credit: bool) -> None:
    click = parsed_event("Promotion Clicked", 0, "https://shop.example/")
    clicked, visit = touches(click, parsed_event("page", 1, "https://shop.example/sale"), credit=credit)
    assert (clicked.channel, clicked.earns_credit, clicked.event_id) == ("On-site", False, visit.event_id)
    assert (visit.kind, visit.channel, visit.earns_credit) == ("visit", "Direct", True)


def test_visit_starting_with_campaign_click_has_only_the_click_touch() -> None:
    (clicked,) = touches(parsed_event("Promotion Clicked", 0, "https://shop.example/", {"medium": "email"}))
    assert (clicked.kind, clicked.channel, clicked.earns_credit) == ("click", "Email", True)
