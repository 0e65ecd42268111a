"""Rows put in the place of others, and no more written than has changed."""

from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts import TABLES, Table
from lakehouse.frames import settle
from lakehouse.tables import Lakehouse

CAME, REPLACED, WENT = "came", "replaced", "went"


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
    moves = settle(_moves(old, new, table))
    time = str(table.event_time)
    row = moves.agg(
        F.count("*").alias("moves"),
        F.min(time).alias("low"),
        F.max(time).alias("high"),
        F.count_if(F.col("_move") != CAME).alias("in_place"),
    ).collect()[0]
    changed = moves.where(F.col("_move") != WENT)
    if row.in_place:
        gone = moves.where(F.col("_move") == WENT)
        scope = F.col(f"t.{time}").between(F.lit(row.low), F.lit(row.high))
        lake.swap(name, gone, changed, upto, scope, **told)
    elif row.moves:
        lake.append(name, changed, upto, **told)
    return int(row.moves)


def _moves(old: DataFrame, new: DataFrame, table: Table) -> DataFrame:
    """Rows that came, took the place of one with their key, or went: with `_move`."""
    keys = F.struct(*table.key)
    either = old.select(*old.columns, F.lit(-1).alias("_side")).unionByName(
        new.select(*new.columns, F.lit(1).alias("_side"))
    )
    row = F.struct(*table.column_names)
    sides = either.groupBy(keys.alias("_key")).agg(
        F.max(F.when(F.col("_side") < 0, row)).alias("_old"),
        F.max(F.when(F.col("_side") > 0, row)).alias("_new"),
    )
    move = F.when(F.col("_new").isNull(), WENT).when(F.col("_old").isNull(), CAME).otherwise(REPLACED)
    differing = sides.where(~F.col("_old").eqNullSafe(F.col("_new")))
    told = differing.select(F.coalesce("_new", "_old").alias("_row"), move.alias("_move"))
    return told.select("_row.*", "_move")
