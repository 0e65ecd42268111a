"""Server events: they belong to no session and start no touch, but are the person's goals all the same."""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from folds.visitors.events import Event
from folds.visitors.fold import find_credit_inputs
from folds.visitors.spans import is_within, spans_of, stretches_of
from kit.histories import fold_history
from kit.message_credit import credit_messages, parsed
from kit.oracle_wire import DAY, MINUTE, SECOND
from kit.records import message
from kit.visitor_stories import CHOICES, NOON, event, rules_of, to_events

START = datetime(2026, 5, 1, 10, tzinfo=timezone.utc)
LANDING = {"page": {"url": "https://shop.example/?utm_source=news&utm_medium=email"}}
ORDER = {"order_id": "28-O", "total": 60, "currency": "EUR"}
RULES = rules_of(CHOICES[0])
SEEN = {"type": "track", "role": "impression", "promotion_id": "p"}
CLICK = {"type": "track", "role": "click", "promotion_id": "p"}


def sent(uid: str, kind: str, minutes: float, visitor: str | None = None, **more: Any) -> dict[str, Any]:
    """A message; without a visitor, one that has no anonymousId."""
    body = message(uid, visitor or "", kind, START + timedelta(minutes=minutes), **more)
    return body if visitor else {name: value for name, value in body.items() if name != "anonymousId"}


@pytest.mark.parametrize(
    ("body", "is_server"),
    [
        (sent("order", "Order Completed", 0, userId="7"), True),
        (sent("page", "page", 0, userId="7"), True),
        (sent("screen", "screen", 0, userId="7"), False),
        (sent("url", "Order Completed", 0, userId="7", context={"page": {"url": "/thanks"}}), False),
        (sent("property", "Order Completed", 0, userId="7", properties={"url": "/thanks"}), False),
        (sent("referrer", "page", 0, userId="7", context={"page": {"referrer": "https://a.example/"}}), True),
        (sent("visitor", "Order Completed", 0, "web1", userId="7"), False),
        ({**sent("blank", "Order Completed", 0, userId="7"), "anonymousId": ""}, True),
    ],
    ids=lambda value: value["messageId"] if isinstance(value, dict) else "",
)
def test_event_without_anonymous_id_address_and_screen_is_a_servers(
    body: dict[str, Any], is_server: bool
) -> None:
    assert parsed(body).is_server_event is is_server


@pytest.mark.parametrize("name", ["7", "web1"], ids=["another visitor", "the visitor of the session"])
def test_order_of_a_server_takes_credit_and_channel_of_the_visit(name: str) -> None:
    """Also if the site's visitor has the user's id, and the order comes in the middle of the visit."""
    found = credit_messages(
        [
            sent("1", "page", 0, "web1", context=LANDING),
            sent("2", "page", 4, "web1", userId=name, context={"page": {"url": "https://shop.example/cart"}}),
            sent("3", "Order Completed", 3, userId=name, properties=ORDER),
        ]
    )
    assert [(row.visitor_id, row.events) for row in found.sessions] == [("web1", 2)]
    assert [(touch.kind, touch.channel) for touch in found.touches] == [("visit", "Email")]
    assert {(row.channel, row.credit) for row in found.persons.attribution} == {("Email", 1.0)}
    (conversion,) = found.persons.conversions
    assert (conversion.visit, conversion.traffic_channel) == (None, "Email")
    assert [step.kind for step in found.persons.trails] == ["goal"]
    assert {row.channel for row in found.minutes if row.minute % DAY == (10 * 60 + 3) * MINUTE} == {None}


def test_order_of_a_server_without_touch_has_no_channel() -> None:
    found = credit_messages([sent("1", "Order Completed", 0, userId="7", properties=ORDER)])
    assert (found.sessions, found.touches) == ([], [])
    assert [row.traffic_channel for row in found.persons.conversions] == [None]
    assert {(row.channel, row.touch_id, row.credit) for row in found.persons.attribution} == {
        ("Direct", None, 1.0)
    }


def test_click_of_a_server_is_counted_but_no_touch_and_no_step() -> None:
    promotion = {"promotion_id": "p"}
    found = credit_messages(
        [
            sent("page", "page", 0, "7", context=LANDING),
            sent("click", "Promotion Clicked", 1, userId="7", properties=promotion,
                 context={"campaign": {"medium": "cpc", "source": "google"}}),
            sent("order", "Order Completed", 2, "7", properties=ORDER),
        ]
    )  # fmt: skip
    clicked = next(touch for touch in found.touches if touch.kind == "click")
    assert (clicked.channel, clicked.earns_credit) == ("Paid Search", False)
    assert found.credit("last") == [("Email", 1.0)]
    assert sum(row.clicks for row in found.minutes) == 1
    assert [step.kind for step in found.persons.trails] == ["visit", "goal"]


def test_stretches_join_sessions_and_exposures_less_than_the_gap_apart() -> None:
    gap = 30 * MINUTE
    assert stretches_of([(gap, gap + 5), (0, 1), (2 * gap + 5, 2 * gap + 6)], gap) == [
        (0, gap + 5),
        (2 * gap + 5, 2 * gap + 6),
    ]
    assert stretches_of([(0, 100), (1, 2)], gap) == [(0, 100)]
    assert stretches_of([], gap) == []


def touches_of(events: list[Event], times: list[int]) -> set[str]:
    """Counted clicks within the spans of some times, from the events in these spans alone."""
    rows = fold_history("a", events, RULES, NOON)
    exposed = [(min(p.at for p in row.made_of), max(p.at for p in row.made_of)) for row in rows.impressions]
    bounds = [*exposed, *((each.started_at, each.ended_at) for each in rows.sessions)]
    spans = spans_of(times, stretches_of(bounds, RULES.session_gap))
    inside = [each for each in events if is_within(each.event_time, spans)]
    return {t.event_id for t in find_credit_inputs("a", inside, rows.sessions, RULES).touches}


def test_clicks_of_a_server_are_recounted_over_minutes_without_a_session() -> None:
    """Each click is too soon after the one before it, except the first and every second after it."""
    clicks = to_events(event(NOON + n * 7 * SECOND, uid=f"c{n:02}", **CLICK, is_server_event=True)
                       for n in range(30))  # fmt: skip
    late = clicks[-1].event_time
    assert touches_of(clicks, [late]) == {f"c{n:02}" for n in range(0, 30, 2)}


def test_impression_of_a_server_is_found_for_a_click_in_a_later_session() -> None:
    at = NOON + 29 * MINUTE
    seen = event(NOON, uid="seen", **SEEN, is_server_event=True)
    click = event(at, uid="click", **CLICK, has_context_campaign=True, campaign_medium="email")
    assert touches_of(to_events([seen, click]), [NOON]) == {"click"}
