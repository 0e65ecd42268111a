"""Stretches of time: few, and wide enough."""

from datetime import datetime, timedelta, timezone

from kit.records import NOON
from lakehouse.rows.time_ranges import merge_buckets

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def test_far_hours_are_covered_apart_and_near_ones_together() -> None:
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


def test_shorter_slots_cover_less() -> None:
    minutes = [NOON, NOON + MINUTE, NOON + 5 * MINUTE]
    assert merge_buckets(minutes, timedelta(0), MINUTE) == [
        (NOON, NOON + 2 * MINUTE),
        (NOON + 5 * MINUTE, NOON + 6 * MINUTE),
    ]


def test_the_first_hour_of_all_is_not_widened_beyond_what_there_is() -> None:
    first = datetime.min.replace(tzinfo=timezone.utc)
    assert merge_buckets([first], HOUR) == [(first, first + 2 * HOUR)]
