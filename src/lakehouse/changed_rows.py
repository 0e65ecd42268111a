"""Changed rows between a fold and a table: as Arrow structs, and written in one commit."""

from collections.abc import Iterable
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from lakehouse.contracts import TABLES, Table
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.grouped import Computed
from lakehouse.instants import from_micros
from lakehouse.merging import GONE
from lakehouse.row_changes import RowChange
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
    rows, low, high, replaced = _extent(computed, TABLES[name])
    changes = computed.frame(TABLES[name].short_name).drop(OLD_TIME)
    if replaced:
        scope = F.col(f"t.{TABLES[name].event_time}").between(
            F.lit(from_micros(low)), F.lit(from_micros(high))
        )
        lake.apply(name, changes, upto, scope, **metadata)
    elif rows:
        lake.append(name, changes, upto, **metadata)
    return rows


def _extent(computed: Computed, contract: Table) -> tuple[int, int, int, int]:
    """How many changes there are, the first and last time of them, and how many replace a row."""
    kind, time = contract.short_name, str(contract.event_time)
    if computed.is_small:
        table = computed.table(kind)
        times = pa.chunked_array([*table[time].chunks, *table[OLD_TIME].chunks], table[time].type)
        bounds = pc.min_max(times.cast(pa.int64())).as_py()
        return table.num_rows, bounds["min"], bounds["max"], table.num_rows - table[OLD_TIME].null_count
    row = (
        computed.frame(kind)
        .agg(
            F.count("*").alias("rows"),
            F.unix_micros(F.min(F.least(time, OLD_TIME))).alias("low"),
            F.unix_micros(F.max(F.greatest(time, OLD_TIME))).alias("high"),
            F.count(OLD_TIME).alias("replaced"),
        )
        .collect()[0]
    )
    return row.rows, row.low, row.high, row.replaced
