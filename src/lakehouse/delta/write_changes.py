"""Writes changes of rows to tables, each table in one commit."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import reduce
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.table import DELETED, Table
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.merge import Scope
from lakehouse.rows.grouped import rows_of_kind
from lakehouse.rows.row_changes import RowChange
from lakehouse.rows.time_pruner import TimePruner, hours_between

OLD_TIME = "_old_time"


def change_type(table: Table) -> pa.StructType:
    """A change of a row: the table's columns, whether it is deleted, and `OLD_TIME`, the old row's time."""
    columns = arrow_schema(table)
    old_time = pa.field(OLD_TIME, columns.field(str(table.event_time)).type)
    return pa.struct([*columns, pa.field(DELETED, pa.bool_()), old_time])


def as_tuples(changes: Iterable[RowChange]) -> list[tuple[object, ...]]:
    """Changes in the order of the fields of `change_type`."""
    return [(*change.row, change.is_deleted, change.old_time) for change in changes]


def changes_between(table: Table, before: DataFrame, after: DataFrame) -> DataFrame:
    """The changes from old to new rows of a table, as columns of `change_type`. Equal rows make no change.

    Args:
        table: its contract, with an event time.
        before: published rows, each key once.
        after: computed rows, each key once.
    """
    sides = ((before, "old"), (after, "new"))
    old, new = (rows.select(F.struct(*table.column_names).alias(side)) for rows, side in sides)
    same_key = reduce(
        lambda left, right: left & right,
        (F.col(f"old.{name}").eqNullSafe(F.col(f"new.{name}")) for name in table.key),
    )
    pairs = old.join(new, same_key, "full_outer").where(~F.col("old").eqNullSafe(F.col("new")))
    is_deleted = F.col("new").isNull()
    row = F.coalesce("new", "old")
    return pairs.select(
        *(row[name].alias(name) for name in table.column_names),
        is_deleted.alias(DELETED),
        F.col(f"old.{table.event_time}").alias(OLD_TIME),
    )


class Extent(NamedTuple):
    """Number of changes of a table, how many of them replace or delete a row, and where these rows are.

    Args:
        rows: number of changes.
        replaced: number of changes with an old row.
        hours: `lakehouse.rows.time_pruner.hours_between` of the times of the old rows.
    """

    rows: int
    replaced: int
    hours: Sequence[Sequence[int]]


def extents_of(changes: DataFrame, tables: Sequence[Table]) -> dict[str, Extent]:
    """The extent of each table's changes: one row on the driver.

    Args:
        changes: a struct of `change_type` per table, named after it, of which one is not null. Checkpointed.
        tables: the tables.
    """
    row = changes.agg(*(_extent(f"{table.short_name}.").alias(table.short_name) for table in tables))
    found = row.collect()[0]
    return {table.name: Extent(*found[table.short_name]) for table in tables}


def _extent(prefix: str = "") -> Column:
    old = F.unix_micros(F.col(f"{prefix}{OLD_TIME}").cast("timestamp"))
    return F.struct(F.count(f"{prefix}{DELETED}"), F.count(old), hours_between(old, old))


def write_changes(lake: Lakehouse, table: Table, changes: DataFrame, upto: datetime, **metadata: int) -> int:
    """Write the changes of one table in one commit; return how many there are.

    Args:
        lake: the tables.
        table: its contract.
        changes: rows with the fields of `change_type`. Checkpointed.
        upto: high-water mark of the commit, an ingest stamp.
        metadata: further metadata of the commit.
    """
    extent = Extent(*changes.agg(_extent().alias("extent")).collect()[0].extent)
    return _write(lake, table, changes, extent, upto, None, **metadata)


def write_kind(
    lake: Lakehouse,
    table: Table,
    changes: DataFrame,
    extents: dict[str, Extent],
    upto: datetime,
    flag: str | None = None,
    **metadata: int,
) -> int:
    """Write one table's changes out of a frame with the changes of several tables.

    Args:
        lake: the tables.
        table: contract of the one table.
        changes: a struct of `change_type` per table. Checkpointed.
        extents: output of `extents_of`.
        upto: high-water mark of the commit, an ingest stamp.
        flag: a column that is true in all rows that are replaced or deleted.
        metadata: further metadata of the commit.
    """
    rows = rows_of_kind(changes, table.short_name)
    return _write(lake, table, rows, extents[table.name], upto, flag, **metadata)


def _write(
    lake: Lakehouse,
    table: Table,
    changes: DataFrame,
    extent: Extent,
    upto: datetime,
    flag: str | None,
    **metadata: int,
) -> int:
    if not extent.rows:
        return 0
    rows = changes.drop(OLD_TIME)
    if extent.replaced:
        scope = Scope(flag, table.event_time, TimePruner.of_hours(extent.hours))
        lake.merge_changes(table.name, rows, upto, scope, **metadata)
    else:
        lake.append(table.name, rows, upto, **metadata)
    return extent.rows
