"""Business days of any time zone, by the quarter-hour marks of changes."""

from datetime import date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from gold.credit.minute_fold import quarter_marks
from gold.credit.minute_input import quarter_of
from gold.daily.business_days import day_of, days_since
from kit.oracle_wire import micros
from lakehouse.rows.arrow_times import in_micros

# Midnight in India; in Nepal it is a quarter of an hour earlier, in Newfoundland nine hours later.
MIDNIGHT = datetime(2026, 3, 1, 18, 30, tzinfo=timezone.utc)


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "Asia/Kathmandu", "America/St_Johns"])
def test_quarter_hour_mark_lies_in_business_day_of_its_events(zone: str) -> None:
    quarter, tick = timedelta(minutes=15), timedelta(microseconds=1)
    for at in (
        MIDNIGHT + n * quarter + off for n in (-1, 0, 1, 36) for off in (-tick, timedelta(0), quarter / 2)
    ):
        [minute] = in_micros(quarter_marks({quarter_of(micros(at))}))["minute"].to_pylist()
        assert day_of(minute, zone) == at.astimezone(ZoneInfo(zone)).date(), at


@pytest.mark.parametrize(("zone", "first"), [("UTC", 29), ("Europe/Berlin", 28), ("America/New_York", 29)])
def test_24_hours_before_a_day_reach_two_days_back_after_a_short_day(zone: str, first: int) -> None:
    days = days_since(date(2026, 3, 30), timedelta(hours=24), zone)
    assert days == [date(2026, 3, day) for day in range(first, 31)]
