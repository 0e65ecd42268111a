"""Custom dimensions: the rules of conf/dimensions.yml, and their values of a message."""

import json
from pathlib import Path
from typing import Any

import pytest

from folds.records import outcomes
from folds.records.dimension_rules import FILE, MAX_VALUE, NO_DIMENSIONS, load_dimension_rules
from folds.records.parse import parse
from folds.records.parse_rules import ParseRules
from folds.records.user_agent_traits import read_user_agent
from folds.visitors.custom_dimensions import NO_VALUES, of_goal, of_person
from kit.oracle_agents import dimensions_of
from kit.parser import RULES
from lakehouse.errors import MillraceError

CHROME = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0"
PHONE = f"Mozilla/5.0 (Linux; Android 10; K) {CHROME} Mobile Safari/537.36"
AGENTS = {
    PHONE: ("phone", "Android", "Chrome Mobile"),
    PHONE.replace(" Mobile", ""): ("tablet", "Android", "Chrome"),
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"
    " Version/18.5 Mobile/15E148 Safari/604.1": ("phone", "iOS", "Mobile Safari"),
    "Mozilla/5.0 (iPad; CPU OS 16_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"
    " Version/16.0 Mobile/15E148 Safari/604.1": ("tablet", "iOS", "Mobile Safari"),
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0"
    " Safari/537.36": ("desktop", "Windows", "Chrome"),
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0": ("desktop", "Linux", "Firefox"),
    "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0"
    " Safari/537.36": ("desktop", "Chrome OS", "Chrome"),
    "Mozilla/5.0 (SMART-TV; Linux; Tizen 6.0) AppleWebKit/538.1 (KHTML, like Gecko) Version/6.0"
    " TV Safari/538.1": ("tv", "Tizen", "Safari"),
    "curl/8.1": ("other", None, "curl"),
}


def rules_of(text: str, tmp_path: Path) -> Any:
    (tmp_path / FILE).write_text(text)
    return load_dimension_rules(tmp_path)


def stated(rules: Any, **message: Any) -> str | None:
    """The column of an event with these fields."""
    sent = {"type": "track", "event": "e", "messageId": "1", "anonymousId": "a", **message}
    every = ParseRules(RULES.roles, RULES.channels, "v", dimensions=rules)
    found = parse(outcomes.Record(json.dumps(sent).encode(), 0), every)
    assert isinstance(found, outcomes.Event)
    return found.custom_dimensions


@pytest.mark.parametrize(
    ("agent", "traits"), AGENTS.items(), ids=["-".join(map(str, v)) for v in AGENTS.values()]
)
def test_user_agent_has_device_system_and_browser(agent: str, traits: tuple[str | None, ...]) -> None:
    found = read_user_agent(agent)
    assert (found.get("device"), found.get("system"), found.get("browser")) == traits


@pytest.mark.parametrize("agent", [*AGENTS, "x" * 5000, "é", "Mozilla/5.0 (" + "Android; " * 300])
def test_shipped_dimensions_match_oracle(agent: str) -> None:
    assert stated(RULES.dimensions, context={"userAgent": agent}) == dimensions_of(agent)


def test_path_is_read_in_properties_context_and_traits(tmp_path: Path) -> None:
    rules = rules_of(
        "dimensions:\n  coupon: {from: properties.a.coupon}\n"
        "  language: {from: [context.locale, traits.language]}",
        tmp_path,
    )
    assert stated(rules, properties={"a": {"coupon": " X "}}, context={"locale": "de"}) == (
        '{"coupon":"X","language":"de"}'
    )
    assert stated(rules, context={"locale": "  "}, traits={"language": "fr"}) == '{"language":"fr"}'
    assert stated(rules, properties={"a": "no object"}) is None
    assert stated(rules, properties={"a": {"coupon": {"code": 1}}}) is None
    assert stated(rules, properties={"a": {"coupon": 12.0}}) == '{"coupon":"12"}'


def test_column_of_customers_is_not_read_in_events(tmp_path: Path) -> None:
    rules = rules_of("dimensions: {plan: {from: customers.plan}, tier: {from: traits.tier}}", tmp_path)
    assert rules.of_customers == {"plan": "plan"}
    assert stated(rules, traits={"plan": "pro", "tier": "1"}) == '{"tier":"1"}'
    only = rules_of("dimensions: {plan: {from: customers.plan}}", tmp_path)
    assert stated(only, traits={"plan": "pro"}) is None


def test_value_is_cut_at_its_greatest_length(tmp_path: Path) -> None:
    rules = rules_of("dimensions: {note: {from: properties.note}}", tmp_path)
    exact, longer = "ü" * MAX_VALUE, "ü" * (MAX_VALUE + 1)
    for sent in (exact, longer):
        assert json.loads(stated(rules, properties={"note": sent}) or "") == {"note": exact}


def test_without_file_there_are_no_dimensions(tmp_path: Path) -> None:
    rules = load_dimension_rules(tmp_path)
    assert rules == NO_DIMENSIONS
    assert stated(rules, context={"userAgent": PHONE}) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("dimensions: {a: {from: context}}", "'context' is none of"),
        ("dimensions: {a: {from: user_agent.model}}", "'user_agent.model' is none of"),
        ("dimensions: {a: {from: properties..b}}", "none of"),
        ("dimensions: {a: {from: []}}", "at least 1"),
        ("dimensions: {A b: {from: properties.b}}", "lower-case letters"),
        ("dimensions: {a: {from: properties.b, level: visitor}}", "'event', 'session' or 'person'"),
        ("dimensions: {a: {from: customers.plan, level: person}}", "its level is event"),
        ("dimensions: {a: {from: customers}}", "nor a column of customers"),
        ("dimensions: {a: {from: [traits.plan, customers.plan]}}", "stands alone"),
        ("dimensions: {a: {from: customers.plan, level: session}}", "its level is event"),
        ("max_values: 0", "greater than or equal to 1"),
        ("dimension: {}", "Extra inputs"),
    ],
)
def test_mistake_in_file_is_named(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(MillraceError, match=problem):
        rules_of(text, tmp_path)


@pytest.mark.parametrize(
    ("own", "of_session", "wanted"),
    [
        (None, None, None),
        ('{"c":"own"}', None, '{"c":"own"}'),
        ('{"d":"own"}', None, '{"d":"own"}'),
        ('{"d":"own"}', NO_VALUES, None),
        ('{"c":"own","d":"own"}', '{"c":"first","d":"first"}', '{"c":"own","d":"first"}'),
        (None, '{"c":"first","d":"first"}', '{"c":"first","d":"first"}'),
    ],
)
def test_conversion_has_its_own_value_or_that_of_its_session(
    own: str | None, of_session: str | None, wanted: str | None
) -> None:
    assert of_goal(own, of_session, frozenset("d")) == wanted


@pytest.mark.parametrize(
    ("own", "of_touch", "wanted"),
    [
        (None, None, None),
        ('{"d":"own"}', None, None),
        ('{"c":"own","d":"own"}', '{"c":"first","d":"first"}', '{"c":"own","d":"first"}'),
        ('{"c":"own","d":"own"}', '{"c":"first"}', '{"c":"own"}'),
        (None, '{"d":"first"}', '{"d":"first"}'),
    ],
)
def test_value_of_level_person_is_that_of_first_touch(
    own: str | None, of_touch: str | None, wanted: str | None
) -> None:
    assert of_person(own, of_touch, frozenset("d")) == wanted
