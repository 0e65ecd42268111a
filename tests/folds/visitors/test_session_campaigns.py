"""Campaigns inside a session: which later events are touches of their own."""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from folds.rule_numbers import RuleNumbers
from kit.message_credit import Credited, credit_messages
from kit.records import message

START = datetime(2026, 5, 1, 10, tzinfo=timezone.utc)
A, B = "?utm_source=news&utm_medium=email&utm_campaign=A", "?utm_source=google&utm_medium=cpc&utm_campaign=B"
MODELS = ("first", "last", "last_non_direct", "linear", "position_based")


def visit(*pages: str | dict[str, Any], **numbers: Any) -> Credited:
    """One session: pages by the query of their address, or by more of a message, and an order."""
    sent = []
    for number, page in enumerate(pages):
        more = {"address": page} if isinstance(page, str) else dict(page)
        kind, address = more.pop("kind", "page"), more.pop("address", "")
        context = {"page": {"url": f"https://shop.example/{address}"}, **more.pop("context", {})}
        at = START + timedelta(minutes=number)
        sent.append(message(f"e{number}", "a", kind, at, context=context, **more))
    order = {"order_id": "1", "total": 80, "currency": "EUR"}
    sent.append(message("order", "a", "Order Completed", START + timedelta(minutes=20), properties=order))
    return credit_messages(sent, numbers=RuleNumbers(**numbers))


def inside(found: Credited) -> list[str]:
    """UIDs of the events that are campaigns inside the session."""
    return [touch.event_id for touch in found.touches if touch.kind == "campaign"]


def test_second_campaign_shares_the_credit_of_its_session() -> None:
    found = visit(A, f"{B}&gclid=G1")
    assert [(row.channel, row.campaign_name, row.events) for row in found.sessions] == [("Email", "A", 3)]
    assert [(touch.kind, touch.channel, touch.campaign_name) for touch in found.touches] == [
        ("visit", "Email", "A"),
        ("campaign", "Paid Search", "B"),
    ]
    assert {model: found.credit(model) for model in MODELS} == {
        "first": [("Email", 1.0), ("Paid Search", 0.0)],
        "last": [("Email", 0.0), ("Paid Search", 1.0)],
        "last_non_direct": [("Email", 0.0), ("Paid Search", 1.0)],
        "linear": [("Email", 0.5), ("Paid Search", 0.5)],
        "position_based": [("Email", 0.5), ("Paid Search", 0.5)],
    }
    assert {row.channel for row in found.minutes} == {"Email"}


@pytest.mark.parametrize(
    ("pages", "wanted"),
    [
        ((A, A, "", A), []),
        ((A, "", B, "", B), ["e2"]),
        ((A, B, A), ["e1", "e2"]),
        (("", A), ["e1"]),
        ((A, f"{A}&utm_term=boots&utm_content=top"), []),
        ((A, "?utm_source=news"), []),
        ((A, "?utm_source=news", A), []),
        ((A, "?utm_source=other"), ["e1"]),
        ((f"{A}&gclid=1", A), []),
        ((f"{A}&gclid=1", "?gclid=1"), []),
        ((f"{A}&gclid=1", "?gclid=2"), ["e1"]),
        ((A, "?gclid=1", A), ["e1", "e2"]),
        ((A, "?fbclid=1"), ["e1"]),
        ((A, "?utm_id=7"), ["e1"]),
    ],
)
def test_event_with_another_campaign_or_click_id_is_a_touch(
    pages: tuple[str, ...], wanted: list[str]
) -> None:
    """What an event does not have is not compared, and term and content are no other campaign."""
    assert inside(visit(*pages)) == wanted


def test_campaign_in_session_can_be_ignored() -> None:
    found = visit(A, B, campaign_in_session="ignore")
    assert [touch.kind for touch in found.touches] == ["visit"]


def test_counted_click_with_a_campaign_is_one_touch() -> None:
    click = {
        "kind": "Promotion Clicked",
        "properties": {"promotion_id": "p"},
        "context": {"campaign": {"source": "shop", "medium": "cpc"}},
    }
    found = visit(A, click, "?utm_source=shop&utm_medium=cpc")
    assert [(touch.kind, touch.event_id) for touch in found.touches] == [("visit", "e0"), ("click", "e1")]


def test_campaign_of_an_impression_is_no_touch() -> None:
    seen = {"source": "shop", "medium": "cpc"}
    shown = {"kind": "Promotion Viewed", "properties": {"promotion_id": "p"}, "context": {"campaign": seen}}
    assert inside(visit(A, shown, "?utm_source=shop&utm_medium=cpc")) == ["e2"]


@pytest.mark.parametrize("rule", ["credit", "none"])
def test_on_site_click_with_a_click_id_is_one_touch(rule: str) -> None:
    click = {"kind": "Promotion Clicked", "properties": {"promotion_id": "p"}, "address": "?gclid=2"}
    found = visit(A, click, on_site_promotions=rule)
    earning = [(touch.kind, touch.channel) for touch in found.touches if touch.earns_credit]
    assert earning == [("visit", "Email"), ("campaign", "Paid Search")]
    assert len({touch.touch_id for touch in found.touches}) == 3
