"""Webhook bodies of providers are mapped to events that the record parser accepts."""

import json
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folds.records.placeholders import load_placeholders
from intake.event_settings import Events
from intake.segment_requests import MOST_MESSAGE
from intake.webhooks.mapping import Arrival, find_id, map_any, map_event
from intake.webhooks.minor_units import decimals_of, major_units
from intake.webhooks.paths import NotJsonError
from kit.odd_values import TEXTS
from kit.parser import CONF, parse
from kit.records import Record

PLACEHOLDERS = load_placeholders(CONF)
ARRIVED_AT = datetime(2026, 6, 1, 12, tzinfo=timezone.utc)
EVENTS = Events(
    id="id",
    time="created",
    name="type",
    names={"checkout.session.completed": "Order Completed", "charge.refunded": "Order Refunded"},
    user="data.object.client_reference_id",
    properties={"order_id": "data.object.metadata.order_id", "currency": "data.object.currency"},
    minor_units={"total": "data.object.amount_total"},
)
SESSION: dict[str, Any] = {
    "id": "evt_1",
    "created": 1780311600,
    "type": "checkout.session.completed",
    "data": {
        "object": {
            "client_reference_id": "ada",
            "metadata": {"order_id": "o-1"},
            "currency": "eur",
            "amount_total": 1999,
        }
    },
}


def mapped(body: object, events: Events = EVENTS, **more: Any) -> dict[str, Any]:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    found: dict[str, Any] = json.loads(map_event(Arrival("payments", raw, ARRIVED_AT, **more), events).value)
    return found


def parsed(value: bytes, at: datetime = ARRIVED_AT) -> dict[str, Any]:
    (row,) = parse([Record(value, timestamp=at)])
    return row


def test_purchase_is_mapped_to_conversion_with_its_value() -> None:
    message = map_event(Arrival("payments", json.dumps(SESSION).encode(), ARRIVED_AT), EVENTS)
    assert message.key == b"ada"
    row = parsed(message.value)
    assert (row["role"], row["goal"], row["order_id"]) == ("goal", "Order Completed", "o-1")
    assert (row["value"], row["currency"], row["user_id"]) == (Decimal("19.99"), "EUR", "ada")
    assert row["event_id"] == "payments:evt_1"
    assert row["event_time"] == 1780311600 * 1_000_000
    assert json.loads(row["properties"])["original"] == SESSION


def test_byte_order_mark_before_body_is_skipped() -> None:
    marked = b"\xef\xbb\xbf" + json.dumps(SESSION).encode()
    assert mapped(marked) == mapped(SESSION)
    assert find_id(marked, EVENTS) == "evt_1"


def test_unmapped_event_keeps_name_of_provider_or_source() -> None:
    assert mapped({**SESSION, "type": "invoice.paid"})["event"] == "invoice.paid"
    assert mapped({"id": 7})["event"] == "payments"
    assert mapped({"id": 7}, name="orders/create")["event"] == "orders/create"


def test_event_without_user_gets_its_own_user() -> None:
    found = mapped({"id": "evt_2"})
    assert (found["userId"], found["messageId"]) == ("payments:evt_2", "payments:evt_2")
    assert "anonymousId" not in found  # else it would start a session
    with_visitor = mapped({"id": 1, "cart": {"visitor": "v"}}, Events(id="id", anonymous="cart.visitor"))
    assert with_visitor["anonymousId"] == "v"
    assert "userId" not in with_visitor


def test_default_mapping_keeps_whole_body_in_original_only() -> None:
    body = {"id": 7, "type": "order", "user": "ada", "created": 1780311600, "lines": [{"price": 1.5}]}
    found = mapped(body, Events(), id="msg_1", name="orders/create")
    assert found.pop("receivedAt")
    assert found == {
        "type": "track",
        "event": "orders/create",
        "messageId": "payments:msg_1",
        "userId": "payments:msg_1",
        "properties": {"original": body},
    }


def test_missing_id_is_derived_from_content_or_request() -> None:
    first, again, other = (mapped(body)["messageId"] for body in ({"a": 1}, {"a": 1}, {"a": 2}))
    assert first == again != other
    assert mapped({"a": 1}, salt="r1")["messageId"] != mapped({"a": 1}, salt="r2")["messageId"]
    assert mapped({"a": 1}, id="msg_1")["messageId"] == "payments:msg_1"
    assert mapped({"id": "in body"}, id="msg_1")["messageId"] == "payments:in body"


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (1780311600, "2026-06-01T11:00:00.000000Z"),
        (1780311600.25, "2026-06-01T11:00:00.250000Z"),
        ("1780311600", "2026-06-01T11:00:00.000000Z"),
        ("2026-06-01T13:00:00+02:00", "2026-06-01T11:00:00.000000Z"),
        ("2026-06-01T12:05:00Z", "2026-06-01T12:05:00.000000Z"),
        ("2026-06-01T12:05:01Z", "2026-06-01T12:05:01.000000Z"),  # the parser takes the arrival
        (1780311600000, "2026-06-01T11:00:00.000000Z"),
        (978307200, "2001-01-01T00:00:00.000000Z"),
        (-5, "-5"),
        ("yesterday", "yesterday"),
        ("9" * 300, "9" * 256),
        ({"at": 1}, None),
    ],
)
def test_event_time_is_parsed_or_left_as_sent(time: object, expected: str | None) -> None:
    found = mapped({"id": 1, "created": time})
    assert found.get("timestamp") == found.get("originalTimestamp") == expected
    assert parsed(json.dumps(found).encode())["reason"] is None


@pytest.mark.parametrize(
    ("amount", "currency", "expected"),
    [
        (1999, "eur", "19.99"),
        (5, "EUR", "0.05"),
        (-5, "EUR", "-0.05"),
        (0, "EUR", "0.00"),
        (1999, "jpy", "1999"),
        (1999, "KWD", "1.999"),
        ("1999", " usd ", "19.99"),
        (123456789012345678901234567890123456789, "EUR", "1234567890123456789012345678901234567.89"),
        (19.99, "EUR", None),
        ("12 EUR", "EUR", None),
        (None, "EUR", None),
        (1999, "euro", None),
        (1999, None, None),
    ],
)
def test_minor_units_are_converted_by_currency_or_omitted(
    amount: object, currency: object, expected: str | None
) -> None:
    fields = {"currency": currency, "amount_total": amount}
    assert mapped({"id": 1, "data": {"object": fields}})["properties"].get("total") == expected


def test_provider_can_override_currency_decimals() -> None:
    # Stripe counts ISK in two decimals all the same: docs.stripe.com/currencies, "Special cases".
    assert (decimals_of("ISK"), decimals_of("CLF"), decimals_of("EUR"), decimals_of("€")) == (0, 4, 2, None)
    assert major_units("500", "ISK", {}) == "500"
    assert major_units("500", "ISK", {"ISK": 2}) == "5.00"


def test_paths_index_into_lists_and_numbers_keep_their_text() -> None:
    events = Events(
        properties={"first": "lines.0.price", "all": "lines", "none": "lines.9.price", "no": "a.b"}
    )
    properties = mapped(b'{"lines": [{"price": 1.10}], "a": null}', events)["properties"]
    assert properties.keys() == {"first", "all", "original"}
    value = map_event(Arrival("s", b'{"lines": [{"price": 1.10}]}', ARRIVED_AT), events).value
    assert b'"first":1.10' in value


@pytest.mark.parametrize(
    "body", [b"", b"{", b'{"a": NaN}', b"\xff", b'1}, "x": {"y": 2', b"1 2", b"1, 2", b"1],[2", b"[" * 5000]
)
def test_invalid_json_is_rejected_or_kept_as_text(body: bytes) -> None:
    with pytest.raises(NotJsonError):
        map_event(Arrival("s", body, ARRIVED_AT), EVENTS)
    row = parsed(map_any(Arrival("s", body, ARRIVED_AT), EVENTS).value)
    assert json.loads(row["properties"])["original"] == body.decode(errors="replace")


def test_oversized_body_keeps_only_mapped_fields() -> None:
    large = json.dumps({**SESSION, "more": "x" * MOST_MESSAGE}).encode()
    message = map_event(Arrival("s", large, ARRIVED_AT), EVENTS)
    row = parsed(message.value)
    assert (len(message.value) < 1000, row["order_id"], row["value"]) == (True, "o-1", Decimal("19.99"))
    assert json.loads(row["properties"])["original_bytes"] == len(large)
    too_large = json.dumps({"id": 1, "type": "x" * MOST_MESSAGE}).encode()
    message = map_event(Arrival("s", too_large, ARRIVED_AT), EVENTS)
    assert (len(message.value) < 1000, parsed(message.value)["name"]) == (True, "s")


def test_record_with_its_key_is_within_the_limit() -> None:
    user = "x" * (MOST_MESSAGE * 2 // 5)
    session = {**SESSION, "data": {"object": {"client_reference_id": user}}}
    message = map_event(Arrival("s", json.dumps(session).encode(), ARRIVED_AT), EVENTS)
    assert message.size <= MOST_MESSAGE
    assert (message.key, json.loads(message.value)["userId"] == user) == (user.encode(), True)
    assert "original" not in json.loads(message.value)["properties"]


def test_overlong_id_is_replaced_by_its_digest() -> None:
    long, other = "x" * 248, "y" * 248
    assert mapped({"id": long[1:]})["messageId"] == f"payments:{long[1:]}"
    first, again, second = (mapped({"id": id_})["messageId"] for id_ in (long, long, other))
    assert first == again != second
    assert parsed(json.dumps(mapped({"id": long})).encode())["event_id"] == first


def test_find_id_returns_mapped_id_or_none() -> None:
    assert find_id(b'{"id": 12}', EVENTS) == "12"
    assert [find_id(body, EVENTS) for body in (b"{}", b"[", b'{"id": ""}', b'{"id": {}}')] == [None] * 4


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=10,
)
OBJECTS = st.fixed_dictionaries(
    {},
    optional={
        "id": VALUES,
        "created": VALUES | st.integers(0, 2**40) | st.datetimes().map(lambda at: at.isoformat() + "Z"),
        "type": VALUES | st.sampled_from([*EVENTS.names]),
        "data": st.fixed_dictionaries(
            {},
            optional={
                "object": st.fixed_dictionaries(
                    {}, optional={"client_reference_id": VALUES, "currency": VALUES, "amount_total": VALUES}
                )
            },
        ),
    },
)


@given(OBJECTS | VALUES, st.booleans())
def test_any_json_becomes_one_event_that_the_parser_accepts(body: object, ascii_only: bool) -> None:
    raw = json.dumps(body, ensure_ascii=ascii_only).encode(errors="surrogatepass")
    try:
        raw.decode()
    except UnicodeDecodeError:
        return  # no JSON: it is UTF-8
    arrival = Arrival("payments", raw, ARRIVED_AT, placeholders=PLACEHOLDERS)
    row = parsed(map_event(arrival, EVENTS).value)
    assert row["reason"] is None
    assert row["visitor_id"]
    assert row["arrival_time"] // 1_000_000 == int(ARRIVED_AT.timestamp())
    if "\\ud" not in raw.decode().lower():
        assert json.loads(row["properties"])["original"] == body


@given(st.binary() | st.text().map(str.encode))
def test_any_bytes_become_one_event_that_the_parser_accepts(body: bytes) -> None:
    row = parsed(map_any(Arrival("feed", body, ARRIVED_AT), EVENTS).value)
    assert (row["reason"], row["type"]) == (None, "track")


def test_arrival_time_may_precede_kafka_timestamp() -> None:
    late = ARRIVED_AT + timedelta(days=3)
    row = parsed(map_event(Arrival("payments", json.dumps(SESSION).encode(), ARRIVED_AT), EVENTS).value, late)
    assert row["reason"] is None
