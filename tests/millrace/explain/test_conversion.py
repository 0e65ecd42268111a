"""`millrace explain conversion`: path, credit and arithmetic, read from hand-made tables."""

import json
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from folds.persons.models import MODELS, ModelInput, ModelNumbers
from folds.persons.models import credits as credits_of
from folds.rule_numbers import RuleNumbers
from kit.records import NOON
from kit.warehouse_builder import build_warehouse
from lakehouse.errors import MillraceError
from millrace.cli import app, register_commands

DAY = timedelta(days=1)
TOUCHES = {
    "click-1": ("click", "Email", 14),
    "visit-2": ("visit", "Paid Search", 7),
    "visit-3": ("visit", "Direct", 0),
}
VALUES = {  # of 10.0000, worked out by hand
    "first": ["10", "0", "0"],
    "last": ["0", "0", "10"],
    "last_non_direct": ["0", "10", "0"],
    "linear": ["3.3333", "3.3333", "3.3334"],
    "position_based": ["4", "2", "4"],
    "time_decay": ["1.4286", "2.8571", "5.7143"],
}


def conversion(conversion_id: str, goal: str, order: str, days: int, value: str) -> dict[str, Any]:
    return {
        "conversion_id": conversion_id,
        "event_id": f"event-{conversion_id}",
        "visitor_id": "ann",
        "person_id": "anna",
        "goal": goal,
        "order_id": order,
        "converted_at": NOON + days * DAY,
        "value": Decimal(value),
        "currency": "USD",
        "reporting_value": Decimal(value) / 2,
        "rate_valid_from": NOON - DAY,
        "touches": 3,
        "is_final": True,
    }


def attribution(conversion_id: str, sign: int) -> list[dict[str, Any]]:
    channels = [channel for _, channel, _ in TOUCHES.values()]
    ages = [days * DAY for _, _, days in TOUCHES.values()]
    micros = [age // timedelta(microseconds=1) for age in ages]
    given = ModelInput(channels, micros, ModelNumbers.of(RuleNumbers()))
    return [
        {
            "conversion_id": conversion_id,
            "model": model,
            "position": place + 1,
            "touch_id": touch_id,
            "touched_at": NOON - ages[place],
            "channel": channels[place],
            "promotion_id": "spring" if place == 0 else None,
            "credit": credits_of(model, given)[place],
            "credited_value": sign * Decimal(VALUES[model][place]),
        }
        for model in MODELS
        for place, touch_id in enumerate(TOUCHES)
    ]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An order, its refund, and a refund above the value of another order."""
    order = conversion("c0ffee", "Order Completed", "A-1", 0, "10.0000")
    refund = conversion("c0ca", "Order Refunded", "A-1", 3, "-10.0000")
    again = conversion("beef", "Order Refunded", "A-2", 3, "-10.0000")
    again |= {"refund_id": "R-2", "over_refunded": True, "value_sent": Decimal("-30.0000")}
    nothing = conversion("f00d", "Order Refunded", "A-2", 4, "0.0000")
    nothing |= {"refund_id": "R-3", "over_refunded": True, "value_sent": Decimal("-5.0000")}
    rest = conversion("fade", "Order Refunded", "A-2", 5, "0.0000")
    rest |= {"refund_id": "R-4", "over_refunded": True, "value_sent": None}
    about = conversion("abba", "Order Refunded", "A-3", 5, "-3.3333")
    about |= {"reporting_value": Decimal("-1.6668"), "over_refunded": False}
    step = {"conversion_id": "c0ffee", "converted_at": NOON, "at": NOON}
    build_warehouse(
        tmp_path,
        {
            "gold.conversions": [order, refund, again, nothing, rest, about],
            "gold.attribution": attribution("c0ffee", 1) + attribution("c0ca", -1),
            "gold.touches": [
                {"touch_id": name, "visitor_id": "ann", "touched_at": NOON - days * DAY, "kind": kind}
                for name, (kind, _, days) in TOUCHES.items()
            ],
            "gold.trails": [
                {
                    **step,
                    "step": 1,
                    "kind": "visit",
                    "url": "https://shop.example/new",
                    "matched_on": "session",
                },
                {**step, "step": 2, "kind": "goal"},
            ],
            "silver.exchange_rates": [
                {
                    "currency": "USD",
                    "rate": Decimal("0.5"),
                    "valid_from": NOON - DAY,
                    "valid_to": NOON + 9 * DAY,
                },
                {"currency": "USD", "rate": Decimal("0.7"), "valid_from": NOON + 9 * DAY},
            ],
        },
    )
    monkeypatch.setenv("MILLRACE_HOME", str(tmp_path))
    return tmp_path


def run(*arguments: str) -> str:
    if not app.registered_commands:
        register_commands()
    answer = CliRunner().invoke(app, ["explain", "conversion", *arguments])
    if answer.exception:
        raise answer.exception
    return answer.stdout


@pytest.mark.usefixtures("home")
def test_explanation_has_path_and_credit_of_each_model() -> None:
    reported = run("c0ffee")
    for line in (
        "Order Completed, order A-1  2026-03-01 12:00:00",
        "Worth 10.0000 USD × 0.5, the rate since 2026-02-28 12:00:00 = 5.0000 EUR.",
        "https://shop.example/new",
        "2026-02-15 12:00:00  click  Email        spring                 14 d",
        "Email        the first      1 × 10.0000 = 10.0000",
        "Paid Search  the last that is not Direct      1 × 10.0000 = 10.0000",
        "0.333333 × 10.0000 = 3.3334 (+0.0001 left by rounding)",
        "Paid Search  0.2 / 1, between  0.2 × 10.0000 = 2.0000",
        "Email        2^-(14 d / 7 d) = 0.25, of 1.75",
    ):
        assert line in reported, line


def test_explanation_says_that_visit_continues_another_and_which_page_a_campaign_led_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visit = {"session_id": "back", "event_id": "e-back", "at": NOON, "channel": "Email"}
    session = {"visitor_id": "ann", "channel": "Email"}
    step = {"conversion_id": "c0ffee", "converted_at": NOON, "at": NOON, "matched_on": "session"}
    touch = {"visitor_id": "ann", "touched_at": NOON, "touch_id": "visit-3", "kind": "campaign"}
    build_warehouse(
        tmp_path,
        {
            "gold.conversions": [{**conversion("c0ffee", "Signed Up", "A-1", 0, "10.0000"), "visit": visit}],
            "gold.attribution": attribution("c0ffee", 1),
            "gold.touches": [{**touch, "event_id": "e-ad"}],
            "gold.trails": [
                {**step, "step": 1, "kind": "visit", "event_id": "e-back"},
                {**step, "step": 2, "kind": "page_view", "event_id": "e-ad"},
                {**step, "step": 3, "kind": "page_view", "event_id": "e-other"},
                {**step, "step": 4, "kind": "goal", "event_id": "event-c0ffee", "matched_on": None},
            ],
            "silver.sessions": [
                {**session, "session_id": "mail", "started_at": NOON - DAY, "ended_at": NOON - DAY / 2},
                {**session, "session_id": "back", "started_at": NOON, "ended_at": NOON, "continues": "mail",
                 "entry_referrer": "https://www.paypal.com/"},
                {**session, "session_id": "later", "started_at": NOON + DAY, "ended_at": NOON + DAY},
            ],
        },
    )  # fmt: skip
    monkeypatch.setenv("MILLRACE_HOME", str(tmp_path))
    reported = " ".join(run("c0ffee").split())
    for words in (
        "visit began: it continues the one before it session",
        "page viewed: another campaign led to it session",
        "page viewed session",
        "campaign in the visit Direct",
        "The visit of 2026-03-01 12:00:00 continues that of 2026-02-28 12:00:00: it came back 12 h after",
        "from https://www.paypal.com/, without a campaign of its own. So it is no touch, and its channel is",
        "that one's, Email.",
    ):
        assert words in reported, words


@pytest.mark.usefixtures("home")
def test_refund_is_explained_by_touches_of_its_order() -> None:
    reported = run("event-c0ca")
    assert "It takes back from the touches of its order, Order Completed of 2026-03-01 12:00:00," in reported
    assert "left of the order" not in reported
    assert "2^-(7 d / 7 d) = 0.5, of 1.75" in reported  # as of the order's time
    assert "0.4 × -10.0000 = -4.0000" in reported


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("refund", "limit"),
    [
        ("beef", "-30.0000 USD was sent, more than was left of the order: it counts for what was left."),
        ("f00d", "-5.0000 USD was sent, but earlier refunds left nothing of the order: it counts for"),
        ("fade", "Earlier refunds left nothing of the order for it."),
    ],
)
def test_cut_refund_is_explained_with_what_was_sent(refund: str, limit: str) -> None:
    assert limit in run(refund)


@pytest.mark.usefixtures("home")
def test_refund_is_named_with_its_order_and_rounded_value_is_about() -> None:
    assert "Order Refunded, order A-2, refund R-2" in run("beef")
    assert "Worth -3.3333 USD × 0.5, the rate since 2026-02-28 12:00:00 ≈ -1.6668 EUR." in run("abba")


@pytest.mark.usefixtures("home")
def test_json_output_has_rows_of_conversion() -> None:
    reported = json.loads(run("c0ffee", "--json"))
    assert reported["conversion"]["order_id"] == "A-1"
    assert [step["kind"] for step in reported["trail"]] == ["visit", "goal"]
    assert [row["credited_value"] for row in reported["credits"]["last"]] == ["0.0000", "0.0000", "10.0000"]
    assert {touch["touch_id"] for touch in reported["touches"]} == TOUCHES.keys()
    assert reported["rate"]["rate"] == "0.5000000000"


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ("nothing", "there is no conversion 'nothing'"),
        ("A-1", "'A-1' is 2 conversions"),
        ("c0", "'c0' is 2 conv"),
    ],
)
def test_unknown_or_ambiguous_conversion_is_rejected(wanted: str, problem: str) -> None:
    with pytest.raises(MillraceError) as reported:
        run(wanted)
    assert str(reported.value).startswith(problem)
