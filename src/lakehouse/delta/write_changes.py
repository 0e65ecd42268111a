"""Writes changes of rows from a fold to a table, in one commit."""

from collections.abc import Iterable
from datetime import date, datetime
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts import TABLES
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.table import DELETED, Table
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.merge import Scope
from lakehouse.rows.arrow_frames import rows_of, transpose
from lakehouse.rows.driver_or_spark import Rows
from lakehouse.rows.row_changes import RowChange, RowDiff

OLD_TIME = "_old_time"


def change_type(table: Table) -> pa.StructType:
    """A change of a row: the table's columns, whether it is deleted, and `OLD_TIME`, the old row's time."""
    columns = arrow_schema(table)
    old_time = pa.field(OLD_TIME, columns.field(str(table.event_time)).type)
    return pa.struct([*columns, pa.field(DELETED, pa.bool_()), old_time])


def as_tuples(changes: Iterable[RowChange]) -> list[tuple[object, ...]]:
    """Changes in the order of the fields of `change_type`."""
    return [(*change.row, change.is_deleted, change.old_time) for change in changes]


def changes_between(table: Table, before: pa.Table, after: pa.Table) -> pa.Table:
    """Compare old and new rows of a table, times in microseconds; return rows of `change_type`."""
    columns = table.column_names
    changes = RowDiff(table).compare(rows_of(before, columns), rows_of(after, columns))
    fields = list(change_type(table))
    return pa.Table.from_arrays(transpose(as_tuples(changes), fields), schema=pa.schema(fields))


def write_changes(lake: Lakehouse, name: str, changes: Rows, upto: datetime, **metadata: int) -> int:
    """Write the changes of a table; return how many there are.

    Args:
        lake: the tables.
        name: the table.
        changes: rows with the fields of `change_type`.
        upto: high-water mark of the commit, an ingest stamp.
        metadata: further metadata of the commit.
    """
    contract = TABLES[name]
    extent = _extent(changes, str(contract.event_time))
    if not extent.rows:
        return 0
    changes = changes.drop(OLD_TIME) if isinstance(changes, DataFrame) else changes.drop_columns(OLD_TIME)
    if extent.replaced:
        scope = Scope(time=contract.event_time, low=extent.low, high=extent.high)
        lake.merge_changes(name, changes, upto, scope, **metadata)
    else:
        lake.append(name, changes, upto, **metadata)
    return extent.rows


class _Extent(NamedTuple):
    """Number of changes, their first and last time, and how many replace a row."""

    rows: int
    low: int | date
    high: int | date
    replaced: int


def _extent(changes: Rows, time: str) -> _Extent:
    if isinstance(changes, pa.Table):
        times = pa.chunked_array([*changes[time].chunks, *changes[OLD_TIME].chunks], changes[time].type)
        bounds = pc.min_max(times if pa.types.is_date(times.type) else times.cast(pa.int64())).as_py()
        replaced = changes.num_rows - changes[OLD_TIME].null_count
        return _Extent(changes.num_rows, bounds["min"], bounds["max"], replaced)
    row = changes.agg(
        F.count("*").alias("rows"),
        F.unix_micros(F.min(F.least(time, OLD_TIME))).alias("low"),
        F.unix_micros(F.max(F.greatest(time, OLD_TIME))).alias("high"),
        F.count(OLD_TIME).alias("replaced"),
    ).collect()[0]
    return _Extent(*row)
