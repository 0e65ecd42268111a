"""Writes changes of rows to tables, each table in one commit."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple, cast

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.table import DELETED, Table
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.merge import Scope
from lakehouse.rows.checkpointing import checkpoint_with
from lakehouse.rows.grouped import GroupedRows, batch_of_kind, map_groups, rows_of_kind, with_key
from lakehouse.rows.row_changes import RowChange, RowDiff
from lakehouse.rows.time_pruner import TimePruner, hours_between

OLD_TIME = "_old_time"
WAS_OPEN = "_was_open"
"""`is_open` of the old row; null if there is none. Changes of tables partitioned by `is_open` may have it."""

_IS_NEW = "_is_new"


def change_type(table: Table) -> pa.StructType:
    """A change of a row: the table's columns, whether it is deleted, and `OLD_TIME`, the old row's time."""
    columns = arrow_schema(table)
    old_time = pa.field(OLD_TIME, columns.field(str(table.event_time)).type)
    return pa.struct([*columns, pa.field(DELETED, pa.bool_()), old_time])


def as_tuples(changes: Iterable[RowChange]) -> list[tuple[object, ...]]:
    """Changes in the order of the fields of `change_type`."""
    return [(*change.row, change.is_deleted, change.old_time) for change in changes]


def as_nested_tuple(**fields: Any) -> tuple[Any, ...]:
    """A struct, whose fields may be structs, as tuples: a maker for `GroupedRows.rows`."""
    return tuple(tuple(each.values()) if isinstance(each, dict) else each for each in fields.values())


def struct_makers(table: Table) -> dict[str, Callable[..., Any]]:
    """`as_nested_tuple` for each column of a table with structs, or with lists of structs."""
    return {field.name: as_nested_tuple for field in arrow_schema(table) if _has_structs(field.type)}


def _has_structs(type_: pa.DataType) -> bool:
    return pa.types.is_struct(type_) or (pa.types.is_list(type_) and _has_structs(type_.value_type))


def folded_changes(
    tables: Sequence[Table], before: Mapping[str, DataFrame], after: Mapping[str, DataFrame], key: str
) -> DataFrame:
    """The changes from old to new rows of several tables: one shuffle, one pass in Python.

    Args:
        tables: the tables.
        before: by table, published rows, each key once.
        after: by table, computed rows, each key once.
        key: a column of all tables that equal keys have in common; rows with the same value fit in memory.

    Returns:
        A struct of `change_type` per table, named after it, of which one is not null; not computed yet.
    """
    kinds = {}
    for table in tables:
        values = [f"CAST(`{column.name}` AS {column.type}) AS `{column.name}`" for column in table.columns]
        old = before[table.name].selectExpr(*values, f"false AS {_IS_NEW}")
        new = after[table.name].selectExpr(*values, f"true AS {_IS_NEW}")
        kinds[table.short_name] = with_key(old.union(new), key, (*table.column_names, _IS_NEW))
    schema = pa.schema([pa.field(table.short_name, change_type(table)) for table in tables])
    return map_groups(kinds, partial(_compare, tables=tables, schema=schema), schema)


def _compare(groups: GroupedRows, tables: Sequence[Table], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for table in tables:
        diff, changes = RowDiff(table), []
        for rows in groups.rows(table.short_name, tuple, **struct_makers(table)).values():
            old, new = ([row[:-1] for row in rows if row[-1] is is_new] for is_new in (False, True))
            changes += as_tuples(diff.compare(old, new))
        if changes:
            yield batch_of_kind(schema, table.short_name, changes)


class Extent(NamedTuple):
    """Number of changes of a table, how many of them replace or delete a row, and where these rows are.

    Args:
        rows: number of changes.
        replaced: number of changes with an old row.
        hours: `lakehouse.rows.time_pruner.hours_between` of the times of the old rows.
        are_open: whether all old rows are in the partition of open rows.
    """

    rows: int
    replaced: int
    hours: Sequence[Sequence[int]]
    are_open: bool = False


def checkpoint_changes(
    changes: DataFrame, tables: Sequence[Table], **aggregates: Column
) -> tuple[DataFrame, dict[str, Extent], Mapping[str, Any]]:
    """Compute changes of several tables, and their extents in the same Spark job.

    Args:
        changes: a struct of `change_type` per table, named after it, of which one is not null.
        tables: the tables.
        aggregates: further aggregates of the changes, by name.

    Returns:
        The checkpointed changes, the extent of each table's changes, and the values of the aggregates.
    """
    fields = {each.name: cast("StructType", each.dataType).names for each in changes.schema}
    wanted = {name: _extent(fields[name], f"{name}.") for name in (table.short_name for table in tables)}
    frame, found = checkpoint_with(changes, **wanted, **aggregates)
    return frame, {table.name: Extent(*found[table.short_name]) for table in tables}, found


def _extent(fields: Sequence[str], prefix: str = "") -> Column:
    old = F.unix_micros(F.col(f"{prefix}{OLD_TIME}").cast("timestamp"))
    was_open = F.col(f"{prefix}{WAS_OPEN}") if WAS_OPEN in fields else F.lit(False)
    are_open = F.count_if(was_open) == F.count(old)
    return F.struct(F.count(f"{prefix}{DELETED}"), F.count(old), hours_between(old, old), are_open)


def write_changes(lake: Lakehouse, table: Table, changes: DataFrame, upto: datetime, **metadata: int) -> int:
    """Compute the changes of one table and write them in one commit; return how many there are.

    Args:
        lake: the tables.
        table: its contract.
        changes: rows with the fields of `change_type`, and perhaps `WAS_OPEN`; not computed yet.
        upto: high-water mark of the commit, an ingest stamp.
        metadata: further metadata of the commit.
    """
    rows, found = checkpoint_with(changes, extent=_extent(changes.columns))
    return _write(lake, table, rows, Extent(*found["extent"]), upto, **metadata)


def write_kind(
    lake: Lakehouse,
    table: Table,
    changes: DataFrame,
    extents: dict[str, Extent],
    upto: datetime,
    **metadata: int,
) -> int:
    """Write one table's changes out of a frame with the changes of several tables.

    Args:
        lake: the tables.
        table: contract of the one table.
        changes: a struct of `change_type` per table, by `checkpoint_changes`.
        extents: of all tables, by `checkpoint_changes`.
        upto: high-water mark of the commit, an ingest stamp.
        metadata: further metadata of the commit.
    """
    rows = rows_of_kind(changes, table.short_name)
    return _write(lake, table, rows, extents[table.name], upto, **metadata)


def _write(
    lake: Lakehouse,
    table: Table,
    changes: DataFrame,
    extent: Extent,
    upto: datetime,
    **metadata: int,
) -> int:
    """Write changes: if all old rows are open, by replacing that partition; see docs/decisions/0057."""
    if not extent.rows:
        return 0
    rows = changes.drop(OLD_TIME, WAS_OPEN)
    if extent.replaced:
        flag = "is_open" if extent.are_open else None
        scope = Scope(flag, table.event_time, TimePruner.of_hours(extent.hours))
        lake.merge_changes(table.name, rows, upto, scope, **metadata)
    else:
        lake.append(table.name, rows, upto, **metadata)
    return extent.rows
