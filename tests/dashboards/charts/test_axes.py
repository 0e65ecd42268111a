"""The time ranges that tooltips show."""

from datetime import date, timedelta

import polars as pl
import pytest
from charts.axes import span
from period import midnight

DAY = timedelta(days=1)


@pytest.mark.parametrize(
    "zone", ["UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York", "Pacific/Kiritimati"]
)
def test_step_of_days_is_named_by_its_first_business_day(zone: str) -> None:
    days = [date(2026, 8, 21) + number * DAY for number in range(200)]
    start = midnight(days[0], zone)
    rows = pl.DataFrame({"start": [start + number * DAY for number in range(200)]})
    assert rows.select(span(DAY, zone))["span"].to_list() == [f"{day:%-d %b %Y}" for day in days]
    weeks = rows.gather_every(7).select(span(7 * DAY, zone))["span"].to_list()
    assert weeks == [f"{day:%-d %b %Y}" for day in days[::7]]


def test_step_of_hours_is_named_in_utc() -> None:
    rows = pl.DataFrame({"start": [midnight(date(2026, 8, 21), "Europe/Berlin")]})
    assert rows.select(span(timedelta(hours=6), "Europe/Berlin"))["span"].to_list() == ["20 Aug 22:00–04:00"]
