"""New rows of silver as frames for expectations."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts import TABLES as CONTRACTS
from lakehouse.contracts.exposures import IMPRESSIONS
from lakehouse.contracts.silver import DUPLICATE_EVENTS, EVENTS, REJECTED_EVENTS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.quality.metrics import IS_RECORD, SOURCE
from lakehouse.quality.suites import Suite
from lakehouse.timestamps import EPOCH

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
MAX_COMPARED = timedelta(days=2)
"""Older hours are not compared: a backlog of months is checked by its last days."""

RECORDS = (EVENTS.name, REJECTED_EVENTS.name, DUPLICATE_EVENTS.name)
TABLES = (*RECORDS, IMPRESSIONS.name)


def new_records(lake: Lakehouse, after: datetime, upto: datetime, suites: Mapping[str, Suite]) -> DataFrame:
    """Records with ingest stamps in a range.

    Args:
        lake: the tables.
        after: ingest stamp, excluded.
        upto: ingest stamp, included.
        suites: the expectations, for the columns that they compute.

    Returns:
        The union of events, rejected records and duplicates: the columns of silver.events, the computed
        columns, `reason`, `_table` (the table of the row) and `_is_record` (whether the row is a record of
        the events' topic).
    """
    named = [
        _stamped(lake.read(table), after, upto).withColumns(
            {**computed(suites.get(table)), SOURCE: F.lit(table)}
        )
        for table in RECORDS
    ]
    events, rejected, copies = named
    frame = events.unionByName(rejected.drop("value"), allowMissingColumns=True)  # binary in this table
    frame = frame.unionByName(copies, allowMissingColumns=True)
    is_refused, of_side = (
        F.col(SOURCE) == REJECTED_EVENTS.name,
        F.col("topic").isin(*lake.settings.side_topics),
    )
    return frame.withColumn(IS_RECORD, ~(is_refused & of_side))


def new_rows(
    lake: Lakehouse, table: str, after: datetime, upto: datetime, watermark: datetime, suite: Suite | None
) -> DataFrame:
    """Rows of a table with ingest stamps in a range, or later than a watermark."""
    rows = lake.read(table)
    if "ingested_at" in rows.columns:
        new = _stamped(rows, after, upto)
    else:
        new = rows.where(F.col(str(CONTRACTS[table].event_time)) > F.lit(watermark))
    return new.withColumns(computed(suite))


def _stamped(rows: DataFrame, after: datetime, upto: datetime) -> DataFrame:
    stamp = F.col("ingested_at")
    return rows.where((stamp > F.lit(after)) & (stamp <= F.lit(upto)))


def computed(suite: Suite | None) -> dict[str, Column]:
    """The columns that a suite computes."""
    return {name: F.expr(sql) for name, sql in suite.columns.items()} if suite else {}


def hours_to_compare(before: datetime, now: datetime) -> tuple[datetime, datetime] | None:
    """Start and end of the whole hours that the watermark has passed; None if there are none."""
    low, high = max(_hour_of(before), _hour_of(now) - MAX_COMPARED), _hour_of(now)
    return None if low >= high or low <= EPOCH + DAY else (low, high)


def compare_hours(lake: Lakehouse, before: datetime, now: datetime) -> DataFrame | None:
    """Whole hours that the watermark has passed, each with the same hour of the day before.

    Args:
        lake: the tables.
        before: the previous watermark.
        now: the current watermark.

    Returns:
        hour, events, events_before and `volume` (events / events_before): a row for each hour with events on
        the day before. None if no hour has become complete.
    """
    span = hours_to_compare(before, now)
    if span is None:
        return None
    low, high = span
    at = F.col("event_time")
    spans = [(low - by, high - by) for by in (timedelta(0), DAY)]
    inside = [(at >= F.lit(start)) & (at < F.lit(end)) for start, end in spans]
    hours = (
        lake.read(EVENTS.name)
        .where(inside[0] | inside[1])
        .groupBy(F.date_trunc("hour", at).alias("hour"))
        .agg(F.count("*").alias("events"))
    )
    then = hours.select((F.col("hour") + F.lit(DAY)).alias("hour"), F.col("events").alias("events_before"))
    wanted = then.where((F.col("hour") >= F.lit(low)) & (F.col("hour") < F.lit(high)))
    both = wanted.join(hours, "hour", "left").fillna(0, ["events"])
    return both.withColumn("volume", F.col("events") / F.col("events_before"))


def columns_of(lake: Lakehouse, tables: Iterable[str]) -> dict[str, list[str]]:
    """Columns of tables, from their schemas."""
    return {table: lake.read(table).columns for table in tables}


def _hour_of(at: datetime) -> datetime:
    return at.replace(minute=0, second=0, microsecond=0)
