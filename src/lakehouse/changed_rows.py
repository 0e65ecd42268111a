"""Changed rows between a fold and a table: as Arrow structs, and written in one commit."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts import TABLES
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.table import GONE, Table
from lakehouse.grouped import Computed
from lakehouse.merging import Scope
from lakehouse.row_changes import RowChange
from lakehouse.rows import Rows
from lakehouse.tables import Lakehouse

OLD_TIME = "_old_time"


def change_type(table: Table) -> pa.StructType:
    """A change of a row: the table's columns, whether it goes, and `OLD_TIME`: when the row before was."""
    fields = [*arrow_schema(table), pa.field(GONE, pa.bool_())]
    return pa.struct([*fields, pa.field(OLD_TIME, pa.timestamp("us", tz="UTC"))])


def as_tuples(changes: Iterable[RowChange]) -> list[tuple[object, ...]]:
    """Changes in the order of the fields of `change_type`."""
    return [(*change.row, change.is_deleted, change.old_time) for change in changes]


def write_changes(lake: Lakehouse, name: str, computed: Computed, upto: datetime, **metadata: int) -> int:
    """Write the changes of a table, whose kind is its short name; return how many there are.

    Args:
        lake: the tables.
        name: the table.
        computed: has rows of `change_type` for it.
        upto: ingest stamp that the table's input is done up to with this commit.
        metadata: what else the commit says.
    """
    contract = TABLES[name]
    changes = computed.rows(contract.short_name)
    extent = _extent(changes, str(contract.event_time))
    if not extent.rows:
        return 0
    changes = changes.drop(OLD_TIME) if isinstance(changes, DataFrame) else changes.drop_columns(OLD_TIME)
    if extent.replaced:
        scope = Scope(time=contract.event_time, low=extent.low, high=extent.high)
        lake.apply(name, changes, upto, scope, **metadata)
    else:
        lake.append(name, changes, upto, **metadata)
    return extent.rows


class _Extent(NamedTuple):
    """How many changes there are, the first and last time of them, and how many replace a row."""

    rows: int
    low: int
    high: int
    replaced: int


def _extent(changes: Rows, time: str) -> _Extent:
    if isinstance(changes, pa.Table):
        times = pa.chunked_array([*changes[time].chunks, *changes[OLD_TIME].chunks], changes[time].type)
        bounds = pc.min_max(times.cast(pa.int64())).as_py()
        replaced = changes.num_rows - changes[OLD_TIME].null_count
        return _Extent(changes.num_rows, bounds["min"], bounds["max"], replaced)
    row = changes.agg(
        F.count("*").alias("rows"),
        F.unix_micros(F.min(F.least(time, OLD_TIME))).alias("low"),
        F.unix_micros(F.max(F.greatest(time, OLD_TIME))).alias("high"),
        F.count(OLD_TIME).alias("replaced"),
    ).collect()[0]
    return _Extent(*row)
