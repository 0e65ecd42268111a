"""Rows put in the place of others, and no more written than has changed."""

from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts import TABLES
from lakehouse.frames import settle
from lakehouse.tables import Lakehouse


def restate(
    lake: Lakehouse, name: str, before: DataFrame, after: DataFrame, upto: datetime, **told: int
) -> int:
    """Put rows in the place of others; those that are in both stay as they are. Return how many changed.

    Args:
        lake: the tables.
        name: the table; it has an event time.
        before: rows that stand in it, computed already.
        after: what is to stand in their place.
        upto: ingest stamp that the table's input is done up to with this commit.
        told: what else the commit says.
    """
    table = TABLES[name]
    old, new = (rows.select(*table.column_names) for rows in (before, after))
    time = str(table.event_time)
    changed = settle(new.exceptAll(old))
    left = old.join(new, [old[key].eqNullSafe(new[key]) for key in table.key], "left_anti")
    gone = settle(left.select(*dict.fromkeys((*table.key, time))))
    either = changed.select(_at(time), F.lit(False).alias("gone"))
    found = either.unionByName(gone.select(_at(time), F.lit(True).alias("gone"))).agg(
        F.min("at").alias("low"),
        F.max("at").alias("high"),
        F.count_if("gone").alias("gone"),
        F.count_if(~F.col("gone")).alias("changed"),
    )
    row = found.collect()[0]
    if row.gone or (row.changed and not old.isEmpty()):
        scope = F.col(f"t.{time}").between(F.lit(row.low), F.lit(row.high))
        lake.swap(name, gone, changed, upto, scope, **told)
    elif row.changed:
        lake.append(name, changed, upto, **told)
    return int(row.changed + row.gone)


def _at(time: str) -> Column:
    return F.col(time).alias("at")
