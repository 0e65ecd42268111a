"""Records of clients in use: clocks set back, notations of times, ids, amounts, byte order marks."""

import json
from decimal import Decimal
from typing import Any

import pytest

from kit.oracle import read_record
from kit.parser import FIELDS, parse
from kit.records import SENT, Record, Stored, record
from lakehouse.timestamps import from_micros, rfc3339

RECEIVED = "2024-05-21T00:08:56.000Z"
ORDER = {"order_id": "A", "total": 10, "currency": "EUR"}
CLOCKS: dict[str, tuple[dict[str, Any], str, str]] = {
    "a clock set back by two weeks between event and sending": (
        {
            "originalTimestamp": "2024-06-04T11:36:12.799Z",
            "timestamp": "2024-06-04T11:36:12.799Z",
            "sentAt": "2024-05-21T00:08:54.551Z",
        },
        RECEIVED,
        "arrival",
    ),
    "a clock that is right": (
        {"originalTimestamp": "2024-05-21T00:08:50.000Z", "sentAt": "2024-05-21T00:08:54.551Z"},
        "2024-05-21T00:08:51.449Z",
        "corrected",
    ),
    "a clock set back by a tenth of a second": (
        {"originalTimestamp": "2024-05-21T00:08:55.100Z", "sentAt": "2024-05-21T00:08:55.000Z"},
        RECEIVED,
        "arrival",
    ),
    "a clock ahead of the server, without the time of sending": (
        {"originalTimestamp": "2025-05-21T00:08:50.000Z"},
        RECEIVED,
        "arrival",
    ),
    "a time in another notation": (
        {"originalTimestamp": "2024-05-21 00:08:50 UTC", "sentAt": 1716250134551},
        "2024-05-21T00:08:51.449Z",
        "corrected",
    ),
}


@pytest.mark.parametrize("case", CLOCKS)
def test_clock_loses_no_order(case: str) -> None:
    times, wanted, source = CLOCKS[case]
    body = {
        "type": "track",
        "event": "Order Completed",
        "messageId": "1",
        "anonymousId": "phone",
        "receivedAt": RECEIVED,
        "properties": ORDER,
        **times,
    }
    row = parsed(record(body))
    assert (row["reason"], row["value"], row["unread_time"]) == (None, 10, None)
    assert (iso(row["event_time"]), row["time_source"]) == (wanted, source)


NOTATIONS = {
    "2026-05-01T12:00:00Z": "2026-05-01T12:00:00.000Z",
    "2026-05-01T12:00:00.123456789Z": "2026-05-01T12:00:00.123Z",
    "2026-05-01T12:00:00": "2026-05-01T12:00:00.000Z",
    "2026-05-01T12:00:00+0000": "2026-05-01T12:00:00.000Z",
    "2026-05-01 12:00:00": "2026-05-01T12:00:00.000Z",
    1777636800000: "2026-05-01T12:00:00.000Z",
    1777636800001.0: "2026-05-01T12:00:00.001Z",
    1777636800.5: "2026-05-01T12:00:00.500Z",
    "1777636800": "2026-05-01T12:00:00.000Z",
    "2026-05-01": None,
    "2026-04-30T24:00:00Z": None,
    "Fri, 01 May 2026 12:00:00 GMT": None,
}


@pytest.mark.parametrize("sent", NOTATIONS)
@pytest.mark.parametrize("field", ["timestamp", "originalTimestamp"])
def test_time_that_cannot_be_read_is_counted_and_the_event_is_at_its_arrival(sent: Any, field: str) -> None:
    wanted, arrival = NOTATIONS[sent], "2026-05-04T08:00:00.000Z"
    row = parsed(record(page("1", "v", receivedAt=arrival, **{field: sent})))
    assert row["reason"] is None
    assert iso(row["event_time"]) == (wanted or arrival)
    assert row["unread_time"] == (None if wanted else sent)
    source = "timestamp" if field == "timestamp" else "original"
    assert row["time_source"] == (source if wanted else "arrival")


def test_first_time_that_cannot_be_read_is_named() -> None:
    times = {"originalTimestamp": " ", "sentAt": "tomorrow", "timestamp": {"at": 1}, "receivedAt": "x" * 99}
    assert parsed(record(page("1", "v", **times)))["unread_time"] == "tomorrow"
    assert parsed(record(page("1", "v", timestamp={"at": 1})))["unread_time"] == '{"at":1}'
    assert parsed(record(page("1", "v", receivedAt="x" * 99)))["unread_time"] == "x" * 64
    assert parsed(record(page("1", "v", timestamp="", sentAt=None)))["unread_time"] is None


def test_visitors_whose_users_are_placeholders_share_no_person() -> None:
    sent = ["null", "undefined", "[object Object]", "None", " ", "0", "anonymousId", "", None]
    rows = [parsed(record(page(f"{n}", f"v{n}", userId=user))) for n, user in enumerate(sent)]
    assert [row["visitor_id"] for row in rows] == [f"v{n}" for n in range(len(sent))]
    assert {row["user_id"] for row in rows} == {None}
    users = {parsed(record(page("n", f"n{user}", userId=user)))["user_id"] for user in (42, "42", 42.0)}
    assert users == {"42"}


def test_order_without_an_id_of_anybody_is_refused() -> None:
    body = {"type": "track", "event": "Order Completed", "messageId": "1", "properties": ORDER}
    assert parsed(record({**body, "userId": " "}))["reason"] == "no_identity"
    assert parsed(record({**body, "user_id": "7", "anonymous_id": "x"}))["reason"] == "no_identity"


TOTALS: dict[str, tuple[dict[str, Any], str | None, str | None]] = {
    "thousands": ({"total": "2,000.00"}, "2000", None),
    "a sign": ({"total": "$39.95", "revenue": 39.95}, "39.95", None),
    "points and a comma": ({"total": "1.999,00"}, "1999", None),
    "thousands or decimals": ({"total": "6,795"}, None, "6,795"),
    "blanks": ({"total": " 12.50 "}, "12.5", None),
    "an empty total": ({"total": "", "revenue": 7}, "7", None),
    "a total of zero": ({"total": 0, "revenue": 7}, "0", None),
    "less than nothing": ({"total": "-5"}, "-5", None),
    "no value": ({}, None, None),
}


@pytest.mark.parametrize("case", TOTALS)
def test_value_of_an_order_is_read_or_counted(case: str) -> None:
    properties, wanted, unread = TOTALS[case]
    body = {**page("1", "v"), "type": "track", "event": "Order Completed", "properties": properties}
    row = parsed(record(body))
    assert row["value"] == (None if wanted is None else Decimal(wanted))
    assert row["unread_value"] == unread


def test_byte_order_mark_before_a_value_is_no_part_of_it() -> None:
    value = b"\xef\xbb\xbf" + json.dumps(page("1", "v", userId="\ufeffu")).encode()
    row = parsed(Record(value))
    assert (row["reason"], row["event_id"], row["user_id"]) == (None, "1", "\ufeffu")
    assert parsed(Record(b"\xef\xbb\xbf" + value))["reason"] == "not_json"


def page(uid: str, visitor: str, **more: Any) -> dict[str, Any]:
    """A page view without times, but those given."""
    return {"type": "page", "messageId": uid, "anonymousId": visitor, **more}


def parsed(sent: Record) -> dict[str, Any]:
    """The row of a record, of which the oracle reads the same."""
    (row,) = parse([sent])
    read = read_record(Stored(sent, 0, SENT))
    assert row["reason"] == read.reason
    if read.reason is None:
        assert {name: row[name] for name in FIELDS} == {name: read.fields.get(name) for name in FIELDS}
    return row


def iso(at: int) -> str:
    """A time in RFC 3339, to the millisecond."""
    return rfc3339(from_micros(at // 1000 * 1000), "milliseconds")
