"""Days in the business time zone, and the hours that hold them."""

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.intervals import covered, intervals


def day_of(at: Column, zone: str) -> Column:
    """The day that a time lies in."""
    return F.to_date(F.from_utc_timestamp(at, zone))


def collect_days(times: DataFrame, zone: str) -> list[date]:
    """The days that some times lie in, in order.

    Args:
        times: one column, of times.
        zone: the time zone that days go by.
    """
    days = times.select(day_of(F.col(times.columns[0]), zone).alias("day")).distinct()
    return sorted(row.day for row in days.collect())


class Days:
    """Some days, as a condition.

    Args:
        days: any number; None is every day.
        zone: the time zone that they go by.
    """

    def __init__(self, days: Sequence[date] | None, zone: str) -> None:
        self._zone = zone
        self._days = days
        if days is None:
            return
        starts = [datetime.combine(day, time(), ZoneInfo(zone)) for day in days]
        hours = {start + timedelta(hours=hour) for start in starts for hour in range(25)}
        self._hours = intervals(hours, timedelta(hours=1))

    def hold(self, at: str) -> Column:
        """A time lies in one of them."""
        if self._days is None:
            return F.lit(True)
        return covered(at, self._hours) & day_of(F.col(at), self._zone).isin(*self._days)

    def are(self, day: str) -> Column:
        """A day is one of them."""
        return F.lit(True) if self._days is None else F.col(day).isin(*self._days)

    def day_of(self, at: str) -> Column:
        """The day of a time, as a column `day`."""
        return day_of(F.col(at), self._zone).alias("day")
