"""Retention of replaced files and log entries covers the lag of the slowest job."""

from datetime import timedelta

import pytest

from kit.records import NOON
from lakehouse.maintenance.retention import in_hours, twice_the_lag

DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("behind", "kept"),
    [
        ({}, 0 * DAY),
        ({"ingest": 0 * DAY}, 0 * DAY),
        ({"ingest": 0 * DAY, "refine": 0 * DAY, "publish": DAY / 24}, DAY),
        ({"ingest": 0 * DAY, "refine": 3 * DAY, "publish": 3.5 * DAY}, 7 * DAY),
        ({"ingest": 0 * DAY, "refine": 1 * DAY, "publish": 5.1 * DAY}, 11 * DAY),
        ({"ingest": 0 * DAY, "publish": 1 * DAY, "dimensions": 400 * DAY}, 2 * DAY),
    ],
)
def test_least_retention_is_twice_the_lag_of_the_slowest_job_that_is_not_optional(
    behind: dict[str, timedelta], kept: timedelta
) -> None:
    assert twice_the_lag({job: NOON - late for job, late in behind.items()}) == kept


def test_retention_is_rounded_up_to_hours() -> None:
    assert in_hours(7 * DAY) == "interval 168 hours"
    assert in_hours(timedelta(hours=30, seconds=1)) == "interval 31 hours"
