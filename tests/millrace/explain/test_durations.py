"""Durations are shown in the largest unit of which there is at least one."""

from datetime import timedelta

import pytest

from millrace.explain.durations import readable


@pytest.mark.parametrize(
    ("span", "shown"),
    [
        (timedelta(0), "0 s"),
        (timedelta(seconds=59, microseconds=990_000), "60 s"),
        (timedelta(seconds=60), "1 min"),
        (timedelta(minutes=5), "5 min"),
        (timedelta(hours=1, minutes=30), "1.5 h"),
        (timedelta(hours=24), "1 d"),
        (timedelta(days=7), "7 d"),
        (timedelta(days=29, hours=16), "29.7 d"),
    ],
)
def test_duration_has_three_digits_in_its_unit(span: timedelta, shown: str) -> None:
    assert readable(span) == shown
