"""Notations of times, and the choice of the event time."""

from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folds.records.event_time import (
    ARRIVAL,
    CORRECTED,
    MAX_AHEAD,
    ORIGINAL,
    TIMESTAMP,
    event_time,
    parse_time,
    record_time,
)
from kit import oracle_wire
from kit.oracle_wire import micros
from kit.records import NOON
from lakehouse.timestamps import LAST

TIMES = {
    "2026-03-01T12:00:00Z": micros(NOON),
    "2026-03-01t12:00:00z": micros(NOON),
    "2026-03-01T12:00:00": micros(NOON),
    "2026-03-01T12:00:00+00:00": micros(NOON),
    "2026-03-01T12:00:00-00:00": micros(NOON),
    "2026-03-01T14:00:00+02:00": micros(NOON),
    "2026-03-02T11:59:00+23:59": micros(NOON),
    "2026-02-28T12:01:00-23:59": micros(NOON),
    "2026-03-02T06:00:00+18:00": micros(NOON),
    "2026-03-02T06:01:00+18:01": micros(NOON),
    "2026-03-01T12:00:00.1Z": micros(NOON) + 100_000,
    "2026-03-01T12:00:00.000001Z": micros(NOON) + 1,
    "2026-03-01T12:00:00.0000019999999999999999999999999999999Z": micros(NOON) + 1,
    "2026-03-01T12:00:00.999999999+19:00": micros(NOON) + 999_999 - 19 * 3600 * 10**6,
    "2024-02-29T00:00:00Z": micros(datetime(2024, 2, 29, tzinfo=timezone.utc)),
    "1970-01-01T00:00:00Z": 0,
    "1969-12-31T23:00:00-01:00": 0,
    "1970-01-01T23:59:00+23:59": 0,
    "9999-12-31T23:59:59.999999Z": 253_402_300_799_999_999,
    "9999-12-31T23:59:59.9999999Z": 253_402_300_799_999_999,
    "10000-01-01T00:00:00+23:59": None,
    "2026-03-01 12:00:00": micros(NOON),
    "2026-03-01 12:00:00Z": micros(NOON),
    "2026-03-01T12:00Z": micros(NOON),
    "2026-03-01t12:00": micros(NOON),
    "2026-03-01 13:30+0130": micros(NOON),
    "2026-03-01T12:00:00,5Z": micros(NOON) + 500_000,
    "2026-03-01T12:00:00,123456789": micros(NOON) + 123_456,
    "2026-03-01T12:00:00+00": micros(NOON),
    "2026-03-01T10:00:00-02": micros(NOON),
    "2026-03-01T12:00:00+0000": micros(NOON),
    "2026-03-01T17:45:00.25+0545": micros(NOON) + 250_000,
    "2026-03-01T12:00:00UTC": micros(NOON),
    "2026-03-01 12:00:00 UTC": micros(NOON),
    "2026-03-01 12:00:00.5 utc": micros(NOON) + 500_000,
    "2026-03-01 14:00:00 +0200": micros(NOON),
    "2026-03-01T12:00:00:Z": micros(NOON),
    "2026-03-01t12:00:00.000:z": micros(NOON),
    "1772366400": micros(NOON),
    "1772366400.25": micros(NOON) + 250_000,
    "1772366400.1234567": micros(NOON) + 123_456,
    "1772366400000": micros(NOON),
    "1772366400001": micros(NOON) + 1_000,
    "1772366400000001": micros(NOON) + 1,
    "0000000000": 0,
    "9999999999": 9_999_999_999_000_000,
    **dict.fromkeys(
        [
            "1969-12-31T23:59:59.999999Z",
            "1970-01-01T00:00:00+00:01",
            "9999-12-31T23:59:59-00:01",
            "9999-12-31T23:59:59-23:59",
            "10000-01-01T00:00:00Z",
            "2026-03-01T12:00:60Z",
            "2016-12-31T23:59:60Z",
            "2026-03-01T24:00:00Z",
            "2026-02-29T12:00:00Z",
            "2026-13-01T12:00:00Z",
            "0000-01-01T00:00:00Z",
            "2026-03-01T12:00:00.Z",
            "2026-03-01T12:00:00,",
            "2026-03-01T12.5Z",
            "2026-03-01T12Z",
            "2026-03-01  12:00:00",
            "2026-03-01_12:00:00",
            "2026-03-01T12:00:00  UTC",
            "2026-03-01T12:00:00 ",
            "2026-03-01T12:00:00:",
            "2026-03-01T12:00:00GMT",
            "2026-03-01T12:00:00CET",
            "2026-03-01T12:00:00+1",
            "2026-03-01T12:00:00+010",
            "2026-03-01T12:00:00+24",
            "2026-03-01T12:00:00+0160",
            "2026-03-01T12:00:00 01:00",
            "2026-03-01T12:00:00+01:00:00",
            "2026-04-30T24:00",
            "20260301T120000Z",
            "2026-03-01Z",
            "01/03/2026 12:00:00",
            "Sun, 01 Mar 2026 12:00:00 GMT",
            "Sun Mar 01 2026 12:00:00 GMT+0000",
            "2026-03-01T12:00:00+24:00",
            "2026-03-01T12:00:00+01:60",
            "2026-03-01T12:00:00 Europe/Paris",
            "2026-03-01T12:00:00Z\n",
            " 2026-03-01T12:00:00Z",
            "2026-03-01",
            "177236640",
            "17723664000",
            "177236640000",
            "17723664000000",
            "177236640000000000",
            "1772366400.",
            "1772366400,5",
            "1772366400000.5",
            "1772366400000000.5",
            "-1772366400",
            "+1772366400",
            "1.7723664e9",
            "\u0661772366400",
            "now",
            "",
            "\u0662\u0660\u0662\u0666-03-01T12:00:00Z",
        ]
    ),
}


@pytest.mark.parametrize("text", TIMES)
def test_time_of_any_notation_is_parsed_or_rejected(text: str) -> None:
    assert parse_time(text) == TIMES[text] == oracle_wire.parse_time(text)


AT = micros(NOON)
SOURCES = {
    "both device times": ((AT, 90, 40, 70), (AT - 50, CORRECTED)),
    "sent when it happened": ((AT, 90, 90, 70), (AT, CORRECTED)),
    "a device clock a year ahead": ((AT, AT * 2 + 9, AT * 2, None), (AT - 9, CORRECTED)),
    "clock set back before sending": ((AT, 89, 90, 70), (AT, ARRIVAL)),
    "clock set back, without a timestamp": ((AT, 0, 90, None), (AT, ARRIVAL)),
    "not sent: timestamp": ((AT, None, 90, 70), (70, TIMESTAMP)),
    "sent alone: timestamp": ((AT, 90, None, 70), (70, TIMESTAMP)),
    "original alone": ((AT, None, 90, None), (90, ORIGINAL)),
    "sent alone": ((AT, 90, None, None), (AT, ARRIVAL)),
    "no time": ((AT, None, None, None), (AT, ARRIVAL)),
    "timestamp five minutes ahead": ((AT, None, None, AT + MAX_AHEAD), (AT + MAX_AHEAD, TIMESTAMP)),
    "timestamp further ahead": ((AT, None, 90, AT + MAX_AHEAD + 1), (AT, ARRIVAL)),
    "original five minutes ahead": ((AT, None, AT + MAX_AHEAD, None), (AT + MAX_AHEAD, ORIGINAL)),
    "original further ahead": ((AT, None, AT + MAX_AHEAD + 1, None), (AT, ARRIVAL)),
}


@pytest.mark.parametrize("case", SOURCES)
def test_event_time_names_its_source(case: str) -> None:
    times, wanted = SOURCES[case]
    assert event_time(*times) == wanted


_MOMENTS = st.none() | st.integers(0, 253_402_300_799_999_999)


@given(st.integers(0, 253_402_300_799_999_999), _MOMENTS, _MOMENTS, _MOMENTS)
def test_no_clock_moves_an_event_more_than_five_minutes_past_arrival(
    arrival: int, sent: int | None, original: int | None, timestamp: int | None
) -> None:
    at, source = event_time(arrival, sent, original, timestamp)
    assert at <= arrival + MAX_AHEAD
    assert {
        ARRIVAL: at == arrival,
        TIMESTAMP: at == timestamp,
        ORIGINAL: at == original,
        CORRECTED: at <= arrival,
    }[source]


@pytest.mark.parametrize(
    ("timestamp", "is_counted"),
    [
        (0, True),
        (-1, False),
        (-(2**63), False),
        (micros(NOON) - 1, True),
        (micros(LAST), True),
        (micros(LAST) + 1, False),
        (micros(NOON) * 1000, False),  # microseconds sent as milliseconds
        (2**63 - 1, False),
    ],
)
def test_timestamp_of_kafka_counts_from_1970_to_9999(timestamp: int, is_counted: bool) -> None:
    assert record_time(timestamp, micros(NOON)) == (timestamp if is_counted else micros(NOON))
