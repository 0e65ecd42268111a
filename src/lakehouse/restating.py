"""Rows put in the place of others, and no more written than has changed."""

from datetime import date, datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts import TABLES, Table
from lakehouse.contracts.table import GONE
from lakehouse.frames import settle
from lakehouse.instants import to_micros
from lakehouse.merging import Scope
from lakehouse.tables import Lakehouse


def restate(
    lake: Lakehouse, name: str, before: DataFrame, after: DataFrame, upto: datetime, **told: int
) -> int:
    """Put rows in the place of others; those that are in both stay as they are. Return how many changed.

    Args:
        lake: the tables.
        name: the table; it has an event time.
        before: rows that stand in it.
        after: what is to stand in their place.
        upto: ingest stamp that the table's input is done up to with this commit.
        told: what else the commit says.
    """
    table = TABLES[name]
    old, new = (rows.select(*table.column_names) for rows in (before, after))
    changes = settle(_changes(old, new, table))
    time = str(table.event_time)
    row = changes.agg(
        F.count("*").alias("rows"),
        F.min(F.least(time, "_stood_at")).alias("low"),
        F.max(F.greatest(time, "_stood_at")).alias("high"),
        F.count("_stood_at").alias("in_place"),
    ).collect()[0]
    if row.in_place:
        scope = Scope(time=time, low=_end(row.low), high=_end(row.high))
        lake.apply(name, changes.drop("_stood_at"), upto, scope, **told)
    elif row.rows:
        lake.append(name, changes, upto, **told)
    return int(row.rows)


def _changes(old: DataFrame, new: DataFrame, table: Table) -> DataFrame:
    """Rows that come, or take the place of one with their key, or go.

    With `GONE`, and `_stood_at`: the event time of the row whose place it is, which may be another; null if
    there is none.
    """
    keys = F.struct(*table.key)
    either = old.select(*old.columns, F.lit(-1).alias("_side")).unionByName(
        new.select(*new.columns, F.lit(1).alias("_side"))
    )
    row = F.struct(*table.column_names)
    sides = either.groupBy(keys.alias("_key")).agg(
        F.max(F.when(F.col("_side") < 0, row)).alias("_old"),
        F.max(F.when(F.col("_side") > 0, row)).alias("_new"),
    )
    differing = sides.where(~F.col("_old").eqNullSafe(F.col("_new")))
    return differing.select(
        F.coalesce("_new", "_old").alias("_row"),
        F.col(f"_old.{table.event_time}").alias("_stood_at"),
        F.col("_new").isNull().alias(GONE),
    ).select("_row.*", "_stood_at", GONE)


def _end(at: date) -> int | date:
    return to_micros(at) if isinstance(at, datetime) else at
