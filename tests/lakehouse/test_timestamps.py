"""Conversion between datetimes and microseconds since the epoch."""

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.timestamps import EPOCH, as_utc, from_micros, to_micros

TICK = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("instant", "micros"),
    [
        (EPOCH, 0),
        (EPOCH + TICK, 1),
        (EPOCH - TICK, -1),
        (datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), 0),
        (datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=timezone.utc), 253_402_300_799_999_999),
    ],
)
def test_datetime_converts_to_microseconds_and_back(instant: datetime, micros: int) -> None:
    assert to_micros(instant) == micros
    assert from_micros(micros) == instant


def test_datetime_without_offset_is_utc() -> None:
    assert to_micros(datetime(1970, 1, 2)) == 86_400_000_000  # noqa: DTZ001
    assert as_utc(datetime(1970, 1, 1)) == EPOCH  # noqa: DTZ001


@given(st.datetimes(timezones=st.just(timezone.utc)))
def test_microseconds_round_trip_to_same_datetime(instant: datetime) -> None:
    assert from_micros(to_micros(instant)) == instant
