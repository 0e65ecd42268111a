"""Business days of any time zone, by the quarter-hour marks of changes."""

from datetime import date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from pyspark.sql import SparkSession

from gold.daily.business_days import BusinessDays, business_day, days_since, with_day
from kit.oracle_wire import micros
from lakehouse.timestamps import EPOCH, FIRST, LAST, to_micros

# Midnight in India; in Nepal it is a quarter of an hour earlier, in Newfoundland nine hours later.
MIDNIGHT = datetime(2026, 3, 1, 18, 30, tzinfo=timezone.utc)
QUARTER, TICK = timedelta(minutes=15), timedelta(microseconds=1)
ZONES = ["UTC", "Asia/Kolkata", "Asia/Kathmandu", "America/St_Johns"]


@pytest.mark.parametrize("zone", ZONES)
def test_quarter_hour_is_in_business_day_of_its_events(spark: SparkSession, zone: str) -> None:
    offsets = (-TICK, timedelta(0), QUARTER / 2)
    events = [MIDNIGHT + number * QUARTER + offset for number in (-1, 0, 1, 36) for offset in offsets]
    marks = [at - (at - EPOCH) % QUARTER for at in events]
    rows = spark.createDataFrame(list(zip(events, marks, strict=True)), "at TIMESTAMP, mark TIMESTAMP")
    days = rows.select("at", business_day("at", zone), business_day("mark", zone)).collect()
    assert len(days) == len(events)
    for at, day, of_mark in days:
        assert day == of_mark == at.replace(tzinfo=timezone.utc).astimezone(ZoneInfo(zone)).date()


@pytest.mark.parametrize("zone", ZONES)
def test_pruner_of_days_keeps_their_times(spark: SparkSession, zone: str) -> None:
    hours = [MIDNIGHT + number * timedelta(hours=1) for number in range(-60, 60)]
    rows = with_day(spark.createDataFrame([(at,) for at in hours], "at TIMESTAMP"), "at", zone)
    days = BusinessDays([date(2026, 3, 1)], zone)
    inside = rows.where(rows["day"].isin(*days.days))
    near = rows.where(days.near_until(timedelta(0)).contains("at"))
    times = sorted(row.event_time for row in inside.collect())
    assert times == sorted(row.event_time for row in near.collect())
    assert times == [micros(at) for at in hours if at.astimezone(ZoneInfo(zone)).date() == date(2026, 3, 1)]


@pytest.mark.parametrize("zone", [*ZONES, "Pacific/Honolulu", "Pacific/Kiritimati"])
def test_first_and_last_day_of_the_calendar_have_a_start_and_an_end(zone: str) -> None:
    after = timedelta(hours=24)
    for days in ([date.min], [date(1970, 1, 1)], [date.max], [date.min, date.max]):
        assert days_since(days[-1], after, zone)[-1] == days[-1]
        spans = BusinessDays(days, zone).near_until(after)._spans
        assert all(to_micros(FIRST) <= low < high <= to_micros(LAST) for low, high in spans)
    assert spans[-1][1] == to_micros(LAST)


@pytest.mark.parametrize(("zone", "first"), [("UTC", 29), ("Europe/Berlin", 28), ("America/New_York", 29)])
def test_24_hours_before_a_day_reach_two_days_back_after_a_short_day(zone: str, first: int) -> None:
    days = days_since(date(2026, 3, 30), timedelta(hours=24), zone)
    assert days == [date(2026, 3, day) for day in range(first, 31)]
