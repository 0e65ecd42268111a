"""Parsing of RFC 3339 timestamps for the event time."""

from datetime import datetime, timezone

import pytest

from folds.records.event_time import parse_time
from kit import oracle_wire
from kit.oracle_wire import micros
from kit.records import NOON

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
            "2026-03-01 12:00:00Z",
            "2026-03-01T12:00Z",
            "2026-03-01T12:00:00.Z",
            "2026-03-01T12:00:00,5Z",
            "2026-03-01T12:00:00+0100",
            "2026-03-01T12:00:00+24:00",
            "2026-03-01T12:00:00+01:60",
            "2026-03-01T12:00:00 Europe/Paris",
            "2026-03-01T12:00:00Z\n",
            " 2026-03-01T12:00:00Z",
            "2026-03-01",
            "1772366400",
            "now",
            "",
            "\u0662\u0660\u0662\u0666-03-01T12:00:00Z",
        ]
    ),
}


@pytest.mark.parametrize("text", TIMES)
def test_rfc3339_time_is_parsed_or_rejected(text: str) -> None:
    assert parse_time(text) == TIMES[text] == oracle_wire.parse_time(text)
