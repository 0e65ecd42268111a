"""Retention of replaced files: as configured, and longer than the lag of the slowest job."""

from datetime import timedelta

import pytest

from kit.records import NOON
from lakehouse.maintenance.retention import in_hours, retention

DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("behind", "kept"),
    [
        ({}, 7 * DAY),
        ({"ingest": 0 * DAY}, 7 * DAY),
        ({"ingest": 0 * DAY, "refine": 0 * DAY, "publish": 0 * DAY}, 7 * DAY),
        ({"ingest": 0 * DAY, "refine": 3 * DAY, "publish": 3.5 * DAY}, 7 * DAY),
        ({"ingest": 0 * DAY, "refine": 1 * DAY, "publish": 5 * DAY}, 10 * DAY),
        ({"ingest": 0 * DAY, "refine": 1 * DAY, "publish": 5.1 * DAY}, 11 * DAY),
    ],
)
def test_retention_is_at_least_twice_the_lag_of_the_slowest_job(
    behind: dict[str, timedelta], kept: timedelta
) -> None:
    assert retention(7 * DAY, {job: NOON - late for job, late in behind.items()}) == kept


def test_retention_is_rounded_up_to_hours() -> None:
    assert in_hours(7 * DAY) == "interval 168 hours"
    assert in_hours(timedelta(hours=30, seconds=1)) == "interval 31 hours"
