"""Merging of time buckets into few padded ranges."""

from datetime import datetime, timedelta, timezone

from kit.records import NOON
from lakehouse.rows.time_ranges import merge_buckets

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def test_nearby_hours_merge_and_ranges_stay_within_maximum() -> None:
    hours = [NOON, NOON + HOUR, NOON + 30 * HOUR, NOON - 900 * HOUR]
    assert merge_buckets(hours, MINUTE) == [
        (NOON - 900 * HOUR - MINUTE, NOON - 899 * HOUR + MINUTE),
        (NOON - MINUTE, NOON + 2 * HOUR + MINUTE),
        (NOON + 30 * HOUR - MINUTE, NOON + 31 * HOUR + MINUTE),
    ]
    assert merge_buckets(hours, MINUTE, most=2) == [
        (NOON - 900 * HOUR - MINUTE, NOON - 899 * HOUR + MINUTE),
        (NOON - MINUTE, NOON + 31 * HOUR + MINUTE),
    ]
    assert merge_buckets(hours, MINUTE, most=1) == [(NOON - 900 * HOUR - MINUTE, NOON + 31 * HOUR + MINUTE)]


def test_shorter_buckets_give_narrower_ranges() -> None:
    minutes = [NOON, NOON + MINUTE, NOON + 5 * MINUTE]
    assert merge_buckets(minutes, timedelta(0), MINUTE) == [
        (NOON, NOON + 2 * MINUTE),
        (NOON + 5 * MINUTE, NOON + 6 * MINUTE),
    ]


def test_range_padding_is_clipped_at_datetime_min() -> None:
    first = datetime.min.replace(tzinfo=timezone.utc)
    assert merge_buckets([first], HOUR) == [(first, first + 2 * HOUR)]
