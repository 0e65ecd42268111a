"""Days in the business time zone, and their time spans."""

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.rows.time_pruner import TimePruner
from lakehouse.timestamps import from_micros, span_micros, to_micros

_DAY = timedelta(days=1)


def day_of(at: int, zone: str) -> date:
    """The day that contains a time in microseconds."""
    return from_micros(at).astimezone(ZoneInfo(zone)).date()


def days_since(day: date, span: timedelta, zone: str) -> list[date]:
    """The day, and those before it in which a span that ends in it may start; two if one of them is short."""
    if (day - date.min).days <= span.days + 1:
        return [day]
    first = day_of(_start(day, zone) - span_micros(span), zone)
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
        self._spans = [(_start(day, zone), _start(day + _DAY, zone)) for day in self.days]

    def near_until(self, after: timedelta) -> TimePruner:
        """A pruner of times inside the days, or shortly after them."""
        more = span_micros(after)
        return TimePruner.of_spans((start, end - 1 + more) for start, end in self._spans)

    def with_day(self, rows: pa.Table, time_: str) -> pa.Table:
        """The rows of these days, with column `day` and the time as `event_time`, in microseconds."""
        at = rows[time_].to_numpy()
        starts, ends = (np.array([span[side] for span in self._spans], np.int64) for side in (0, 1))
        place = np.maximum(np.searchsorted(starts, at, side="right") - 1, 0)
        day = pa.array(self.days, pa.date32()).take(pa.array(place))
        return (
            renamed(rows, time_)
            .append_column("day", day)
            .filter(pa.array((at >= starts[place]) & (at < ends[place])))
        )


def renamed(rows: pa.Table, time_: str) -> pa.Table:
    """The rows with a time column renamed to `event_time`."""
    return rows.rename_columns(["event_time" if name == time_ else name for name in rows.column_names])


def with_day(rows: DataFrame, time_: str, zone: str) -> DataFrame:
    """A frame with column `day`, and the time as `event_time`, in microseconds."""
    day = F.to_date(F.from_utc_timestamp(time_, zone))
    return rows.withColumns({"day": day, "event_time": F.unix_micros(time_)})


def _start(day: date, zone: str) -> int:
    return to_micros(datetime.combine(day, time(), ZoneInfo(zone)))
