"""What messages lack for attribution is counted, with the first line, the costliest first."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from folds.records.outcomes import Event, Outcome, Record, Rejection
from folds.records.parse import parse
from kit.hostile import RECORDS
from kit.parser import RULES
from kit.records import Record as Sent
from millrace.clients.data_gaps import DataGaps
from millrace.explain.gap_kinds import KINDS

NOW = 1_793_700_000_000_000  # after TIME
TIME = "2026-11-02T10:00:00Z"
SHOP = "https://shop.example/"
CONSENT = {"consent": {"categoryPreferences": {"ads": True}}}


def sent(**more: Any) -> dict[str, Any]:
    """A page view that lacks nothing, with other fields; None leaves one out."""
    whole = {
        "type": "page",
        "messageId": "m",
        "anonymousId": "a",
        "originalTimestamp": TIME,
        "context": CONSENT,
    }
    return {name: value for name, value in {**whole, **more}.items() if value is not None}


def order(properties: dict[str, Any], name: str = "Order Completed", **more: Any) -> dict[str, Any]:
    return sent(type="track", event=name, properties={"order_id": "o", **properties}, **more)


def on(url: str) -> dict[str, Any]:
    return sent(context={**CONSENT, "page": {"url": url}})


def outcome_of(message: dict[str, Any], **more: Any) -> Outcome:
    """What parsing gives, with other fields of the event."""
    outcome = parse(Record(json.dumps(message).encode(), NOW), RULES)
    return msgspec.structs.replace(outcome, **more) if more else outcome


def found(*messages: dict[str, Any], asks_consent: bool = True) -> list[tuple[str, int, int, str]]:
    gaps = DataGaps(RULES.roles, asks_consent=asks_consent)
    for line, message in enumerate(messages, 1):
        gaps.add(json.dumps(message).encode(), outcome_of(message), line)
    return [(gap.kind, gap.events, gap.line, gap.example) for gap in gaps.found()]


COMPLETE = {
    "a page view": sent(),
    "an order": order({"total": 5}),
    "an order of 0": order({"total": 0}),
    "an order with its value in revenue": order({"total": "", "revenue": 7}),
    "a refund": order({"total": 5}, "Order Refunded"),
    "a cancelled order, which has no value": order({}, "Order Cancelled"),
    "a goal without money": order({}, "Signed Up"),
    "a tagged link": on(f"{SHOP}?utm_source=news&utm_medium=email"),
    "a link without tags": on(f"{SHOP}?q=my%20utm"),
    "a time of the server only": sent(originalTimestamp=None, receivedAt=TIME),
    "ids in both cases": sent(user_id="u", userId="u", anonymous_id="a"),
}


@pytest.mark.parametrize("case", COMPLETE)
def test_complete_event_lacks_nothing(case: str) -> None:
    assert found(COMPLETE[case]) == []


LACKING = {
    "an order whose value is no number": (order({"total": "much"}), "unreadable_value", "much"),
    "a refund whose value is no number": (order({"total": []}, "Order Refunded"), "unreadable_refund", "[]"),
    "an order without a value": (order({"total": None}), "no_value", ""),
    "an order without properties": (sent(type="track", event="Order Completed"), "no_value", ""),
    "an order with a negative value": (order({"total": -5.5}), "negative_value", "-5.5"),
    "a time of a mail": (sent(sentAt="Mon, 02 Nov 2026"), "unreadable_time", "Mon, 02 Nov 2026"),
    "no time": (sent(originalTimestamp=None), "no_time", ""),
    "snake case beside an id": (sent(user_id="u"), "snake_case_id", "user_id"),
    "a tagged link without a source": (on(f"{SHOP}?UTM-Source"), "unreadable_link", f"{SHOP}?UTM-Source"),
    "a link of an unfilled template": (
        *(on(f"{SHOP}?utm_source={{{{site}}}}"), "unreadable_link"),
        f"{SHOP}?utm_source={{{{site}}}}",
    ),
    "a link that is no UTF-8": (
        *(on(f"{SHOP}?utm_source=news&utm_campaign=caf%E9"), "unreadable_link"),
        f"{SHOP}?utm_source=news&utm_campaign=caf%E9",
    ),
    "no consent": (sent(context={}), "no_consent", ""),
    "no context": (sent(context=None), "no_consent", ""),
}


@pytest.mark.parametrize("case", LACKING)
def test_gap_is_counted_with_first_line_and_text(case: str) -> None:
    message, kind, example = LACKING[case]
    assert found(sent(), message, {**message, "messageId": "n"}) == [(kind, 2, 2, example)]


def test_snake_case_ids_of_rejected_event_are_named() -> None:
    message = sent(anonymousId=None, anonymous_id="a", user_id="u")
    assert isinstance(outcome_of(message), Rejection)
    assert found(message) == [("snake_case_id", 1, 1, "anonymous_id, user_id")]


@pytest.mark.parametrize(
    ("ids", "read", "example"),
    [
        ({"userId": "null"}, {"user_id": None}, "null"),
        ({"userId": "u", "anonymousId": "undefined"}, {"user_id": "u", "visitor_id": "u"}, "undefined"),
    ],
)
def test_id_that_the_parser_took_for_missing_is_a_placeholder(
    ids: dict[str, str], read: dict[str, str | None], example: str
) -> None:
    message, gaps = sent(**ids), DataGaps(RULES.roles, asks_consent=True)
    gaps.add(json.dumps(message).encode(), outcome_of(message, **read), 7)
    assert [(gap.kind, gap.line, gap.example) for gap in gaps.found()] == [("placeholder_id", 7, example)]


def test_ids_of_event_without_identity_are_placeholders() -> None:
    message, gaps = sent(anonymousId="None"), DataGaps(RULES.roles, asks_consent=True)
    gaps.add(json.dumps(message).encode(), Rejection("no_identity", NOW), 1)
    assert [(gap.kind, gap.example) for gap in gaps.found()] == [("placeholder_id", "None")]


def test_server_event_needs_a_visitor_with_its_user() -> None:
    server = order({"total": 5}, anonymousId=None, userId="u")
    other = order({"total": 5}, anonymousId=None, userId="w")
    login = sent(type="identify", userId="u")
    assert found(server, other, login, server) == [("unknown_user", 1, 2, "w")]
    assert found(server, other, server) == [("unknown_user", 3, 1, "u")]


def test_page_view_of_a_user_is_no_server_event() -> None:
    page = sent(anonymousId=None, userId="u")
    screen = sent(type="screen", anonymousId=None, userId="u")
    assert found({**page, "context": {**CONSENT, "page": {"url": SHOP}}}, screen) == []


def test_access_log_is_not_asked_for_consent() -> None:
    assert found(sent(context=None), asks_consent=False) == []


def test_gaps_are_in_order_of_what_they_cost() -> None:
    messages = [sent(context={}), on(f"{SHOP}?utm_source"), sent(sentAt="now"), order({"total": "x"})]
    messages.append(order({"total": "x"}, "Order Refunded"))
    assert [kind for kind, *_ in found(*messages)] == [
        *("unreadable_refund", "unreadable_value", "unreadable_time", "unreadable_link", "no_consent"),
    ]
    assert next(iter(KINDS)) == "unreadable_refund"


def test_long_text_is_cut() -> None:
    ((_, _, _, example),) = found(order({"total": "x" * 1000}))
    assert example == "x" * 80 + "…"


@given(st.lists(RECORDS, max_size=4))
def test_hostile_records_are_counted_without_an_error(records: list[Sent]) -> None:
    gaps = DataGaps(RULES.roles, asks_consent=True)
    for line, record in enumerate(records, 1):
        gaps.add(record.value or b"", parse(Record(record.value, NOW), RULES), line)
    assert all(0 < gap.events <= len(records) for gap in gaps.found())


def test_rejected_bytes_lack_nothing() -> None:
    gaps = DataGaps(RULES.roles, asks_consent=True)
    for value in (b"", b"{", b"[]", b"\xff"):
        outcome = parse(Record(value, NOW), RULES)
        assert not isinstance(outcome, Event)
        gaps.add(value, outcome, 1)
    assert gaps.found() == []
