"""Periods of the data-driven models: calendar months, and the last 30 days."""

from datetime import datetime

from pyspark.sql import Column
from pyspark.sql import functions as F

from gold.rules.period_paths import LAST_DAYS


def period_structs(at: Column, zone: str, watermark: datetime) -> Column:
    """The periods that contain a time.

    Args:
        at: a time.
        zone: the time zone of the months.
        watermark: the watermark of gold.

    Returns:
        An array of distinct structs of period_start (included) and period_end (excluded): the calendar month,
        unless it starts after the watermark, and the 30 days up to the watermark, if they contain the time.
    """
    month = F.date_trunc("month", F.from_utc_timestamp(at, zone))
    start, after = (F.to_utc_timestamp(local, zone) for local in (month, month + F.expr("INTERVAL 1 MONTH")))
    first, end = F.lit(watermark - LAST_DAYS), F.lit(watermark)
    of_month = F.when(start <= end, _period(start, after))
    of_last_days = F.when((at >= first) & (at < end), _period(first, end))
    return F.array_distinct(F.array_compact(F.array(of_month, of_last_days)))


def in_period(period: Column, at: Column) -> Column:
    """Whether a time is in a period; false for null."""
    inside = (at >= period["period_start"]) & (at < period["period_end"])
    return F.coalesce(inside, F.lit(False))


def _period(start: Column, end: Column) -> Column:
    return F.struct(start.alias("period_start"), end.alias("period_end"))
