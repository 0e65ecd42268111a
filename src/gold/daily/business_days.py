"""Days in the business time zone, and their time spans."""

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.rows.time_pruner import TimePruner
from lakehouse.timestamps import LAST, from_micros, span_micros, to_micros

_DAY = timedelta(days=1)


def business_day(time_: str, zone: str) -> Column:
    """The day of a time zone that contains a time."""
    return F.to_date(F.from_utc_timestamp(time_, zone))


def with_day(rows: DataFrame, time_: str, zone: str) -> DataFrame:
    """A frame with column `day`, and the time as `event_time`, in microseconds."""
    return rows.withColumns({"day": business_day(time_, zone), "event_time": F.unix_micros(time_)})


def days_since(day: date, span: timedelta, zone: str) -> list[date]:
    """The day, and those before it in which a span that ends in it may start; two if one of them is short."""
    if (day - date.min).days <= span.days + 1:
        return [day]
    earliest = from_micros(_start(day, zone) - span_micros(span))
    first = earliest.astimezone(ZoneInfo(zone)).date()
    return [first + number * _DAY for number in range((day - first).days + 1)]


class BusinessDays:
    """A set of days in a time zone.

    Args:
        days: the days, at least one.
        zone: the time zone of the days.

    Attributes:
        days: the days, in order.
    """

    def __init__(self, days: Iterable[date], zone: str) -> None:
        self.days = sorted(days)
        self._spans = [(_start(day, zone), _last_time(day, zone)) for day in self.days]

    def near_until(self, after: timedelta) -> TimePruner:
        """A pruner of times inside the days, or shortly after them."""
        more = span_micros(after)
        return TimePruner.of_spans((first, last + more) for first, last in self._spans)


def _start(day: date, zone: str) -> int:
    return to_micros(datetime.combine(day, time(), ZoneInfo(zone)))


def _last_time(day: date, zone: str) -> int:
    return _start(day + _DAY, zone) - 1 if day < date.max else to_micros(LAST)
