"""Sessions that continue another: which do, what they take over, and what late events change."""

from datetime import datetime, timedelta, timezone
from itertools import permutations
from typing import Any

import pytest

from folds.visitors.continued_spans import sessions_after
from folds.visitors.fold import Fragments, VisitorRows, find_credit_inputs, fold_visitor
from folds.visitors.sessions import Session
from kit.histories import fold_history
from kit.message_credit import Credited, credit_messages, parsed
from kit.oracle_promotions import Choices
from kit.oracle_wire import DAY, MINUTE, Fields
from kit.records import message
from kit.visitor_stories import CHOICES, NOON, event, rules_of, to_events

RULES = rules_of(CHOICES[0])
START = datetime(2026, 5, 2, 10, tzinfo=timezone.utc)
EMAIL = "https://shop.example/?utm_source=news&utm_medium=email&utm_campaign=may"
PAYPAL, THANKS = "https://www.paypal.com/checkoutnow", "https://shop.example/thanks"
BACK = {"has_internal_referrer": True}
MODELS = ("first", "last", "last_non_direct", "linear", "position_based", "time_decay")


def page(uid: str, minutes: float, url: str | None, referrer: str | None = None) -> dict[str, Any]:
    context = {"page": {"url": url, "referrer": referrer}}
    return message(uid, "a", "page", START + timedelta(minutes=minutes), context=context)


def order(minutes: float) -> dict[str, Any]:
    properties = {"order_id": "O", "total": 50, "currency": "EUR"}
    context = {"page": {"url": THANKS, "referrer": PAYPAL}}
    at = START + timedelta(minutes=minutes)
    return message("order", "a", "Order Completed", at, context=context, properties=properties)


def slow_payment(back: dict[str, Any], minutes: float = 45) -> Credited:
    """A visit by email, then one that starts with a page, and an order."""
    return credit_messages([page("landing", 0, EMAIL), page("cart", 12, THANKS), back, order(minutes)])


def test_return_from_payment_keeps_campaign_and_channel_and_is_no_touch() -> None:
    found = slow_payment(page("back", 45, THANKS, PAYPAL))
    first, second = found.sessions
    assert (first.continues, second.continues) == (None, first.session_id)
    assert [(row.channel, row.campaign_name) for row in found.sessions] == [("Email", "may")] * 2
    assert (second.entry_url, second.entry_referrer) == (THANKS, PAYPAL)
    assert [(touch.kind, touch.touch_id) for touch in found.touches] == [("visit", first.session_id)]
    assert {model: found.credit(model) for model in MODELS} == {name: [("Email", 1.0)] for name in MODELS}
    (conversion,) = found.persons.conversions
    assert (conversion.traffic_channel, conversion.visit and conversion.visit.session_id) == (
        "Email",
        second.session_id,
    )
    assert {row.channel for row in found.minutes} == {"Email"}
    assert sum(row.sessions for row in found.minutes) == 2


def test_return_within_a_session_is_of_that_session() -> None:
    found = credit_messages([page("landing", 0, EMAIL), page("back", 20, THANKS, PAYPAL), order(20)])
    assert [(row.channel, row.continues) for row in found.sessions] == [("Email", None)]


@pytest.mark.parametrize(
    ("url", "referrer", "continues"),
    [
        (THANKS, PAYPAL, True),
        (THANKS, "https://checkout.stripe.com/pay", True),
        (THANKS, "https://www.shop.example:443/cart", True),
        (f"{THANKS}?utm_term=boots", PAYPAL, True),
        (None, PAYPAL, True),
        (THANKS, None, False),
        (THANKS, "https://blog.example/", False),
        (THANKS, "https://www.google.com/", False),
        (f"{THANKS}?utm_medium=email", PAYPAL, False),
        (f"{THANKS}?gclid=1", PAYPAL, False),
        (f"{THANKS}?fbclid=1", PAYPAL, False),
        (None, "https://shop.example/cart", False),
    ],
)
def test_only_internal_referrer_without_campaign_and_click_id_continues(
    url: str | None, referrer: str | None, continues: bool
) -> None:
    _, second = slow_payment(page("back", 45, url, referrer)).sessions
    assert (second.continues is not None) is continues


@pytest.mark.parametrize(("after", "continues"), [(DAY, True), (DAY + 1, False)])
def test_session_is_continued_up_to_a_day_after_its_end(after: int, continues: bool) -> None:
    events = to_events([event(NOON, channel="Email"), event(NOON + after, **BACK)])
    _, second = fold_history("a", events, RULES, NOON).sessions
    assert second.channel == ("Email" if continues else "Direct")
    assert (second.continues is not None) is continues


def test_campaign_in_a_continued_session_is_compared_with_what_it_continues() -> None:
    again = slow_payment(page("back", 45, THANKS, PAYPAL), 75)
    assert [touch.kind for touch in again.touches] == ["visit"]
    messages = [page("landing", 0, EMAIL), page("back", 45, THANKS, PAYPAL)]
    same = credit_messages([*messages, page("reload", 46, EMAIL)])
    other = credit_messages([*messages, page("ad", 46, f"{THANKS}?gclid=1")])
    assert [touch.kind for touch in same.touches] == ["visit"]
    assert [touch.kind for touch in other.touches] == ["visit", "campaign"]


@pytest.mark.parametrize(("choices", "earns"), [(CHOICES[0], False), (CHOICES[1], True)])
def test_on_site_click_that_starts_a_continued_session_is_its_only_touch(
    choices: Choices, earns: bool
) -> None:
    click = {"type": "track", "role": "click", "promotion_id": "p", "url": THANKS, **BACK}
    events = to_events([event(NOON, url=EMAIL, channel="Email"), event(NOON + 60 * MINUTE, **click)])
    sessions = fold_history("a", events, RULES, NOON).sessions
    touches = find_credit_inputs("a", events, sessions, rules_of(choices)).touches
    assert [(touch.kind, touch.earns_credit) for touch in touches] == [("click", earns), ("visit", True)]


def _names(events: tuple[Fields, ...]) -> str:
    return "".join(each["event_id"] for each in events)


CHAIN = [
    event(NOON, uid="0", channel="Email", campaign_medium="email", campaign_content="top"),
    event(NOON + 20 * 60 * MINUTE, uid="1", **BACK),
    event(NOON + 40 * 60 * MINUTE, uid="2", **BACK, campaign_term="boots"),
    event(NOON + 60 * 60 * MINUTE, uid="3", **BACK),
]


def test_sessions_that_continue_each_other_have_the_campaign_of_the_first() -> None:
    sessions = fold_history("a", to_events(CHAIN), RULES, NOON).sessions
    assert [(row.channel, row.campaign_content, row.campaign_term) for row in sessions] == [
        ("Email", "top", None)
    ] * 4
    assert [row.continues for row in sessions] == [None, *(row.session_id for row in sessions[:3])]


def added(rows: list[Session], events: list[Fields], since: int) -> list[Session]:
    """Sessions after more events, folded with those that ended at a time or later."""
    fragments = Fragments()
    fragments.add_rows(VisitorRows([row for row in rows if row.ended_at >= since]))
    for each in to_events(events):
        fragments.add_event(each)
    folded = fold_visitor("a", fragments, RULES, 10**18).sessions
    return [*(row for row in rows if row.ended_at < since), *folded]


@pytest.mark.parametrize("events", list(permutations(CHAIN)), ids=_names)
def test_chain_is_the_same_in_any_order_with_a_day_of_history(events: tuple[Fields, ...]) -> None:
    """Rows before that are not read: what they gave to later rows is kept."""
    rows: list[Session] = []
    for each in events:
        rows = added(rows, [each], each["event_time"] - RULES.session_gap - DAY)
    assert rows == list(fold_history("a", to_events(CHAIN), RULES, 10**18).sessions)


def test_late_landing_changes_every_session_that_continues_it() -> None:
    rows = list(fold_history("a", to_events(CHAIN), RULES, 10**18).sessions)
    ad = event(NOON - MINUTE, uid="ad", channel="Paid Search", click_id="1", click_id_kind="gclid")
    after = added(rows, [ad], ad["event_time"] - RULES.session_gap - DAY)
    wanted = ("Paid Search", None, "1")
    assert [(row.channel, row.campaign_medium, row.click_id) for row in after] == [wanted] * 4
    (first, *others) = after
    spans = {"a": [(first.started_at, first.ended_at + MINUTE)]}
    assert sessions_after(spans, {"a": after}) == {"a": [row.started_at for row in others]}


def test_unread_session_keeps_its_part_in_a_chain() -> None:
    """A session that is only context is left as it is, even if its rules have changed since."""
    rows = list(fold_history("a", to_events(CHAIN), RULES, 10**18).sessions)
    kept = [row._replace(channel="Affiliates") for row in rows[1:3]]
    assert added(kept, [], 0) == kept


def test_session_extended_to_within_a_day_is_continued() -> None:
    far = [CHAIN[0], event(NOON + DAY + MINUTE, uid="far", **BACK)]
    rows = list(fold_history("a", to_events(far), RULES, 10**18).sessions)
    assert rows[1].continues is None
    later = event(NOON + 5 * MINUTE, uid="later")
    after = added(rows, [later], later["event_time"] - RULES.session_gap - DAY)
    assert [(row.channel, row.continues) for row in after] == [("Email", None), ("Email", rows[0].session_id)]


def test_row_of_an_older_version_continues_none() -> None:
    assert parsed(page("back", 0, THANKS, PAYPAL)).has_internal_referrer is True
    old = to_events([CHAIN[0], {**CHAIN[1], "has_internal_referrer": None}])
    assert fold_history("a", old, RULES, NOON).sessions[1].continues is None
