"""Small tables between the driver and Spark: Arrow to a frame, and a frame to Arrow."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

BatchFunction = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def to_frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    """A frame of the rows of a table, kept on the driver while it is small."""
    return spark.createDataFrame(table)


def apply_to_batches(rows: DataFrame, function: BatchFunction, schema: str, *, on_driver: bool) -> DataFrame:
    """Apply a function to Arrow batches of rows: in the Python workers of Spark, or here and now.

    A worker takes longer to reach than to work through a few thousand rows.

    Args:
        rows: the frame.
        function: takes the batches of a partition and gives others.
        schema: of what it gives, as Spark SQL declares columns.
        on_driver: whether the rows, and what comes of them, fit on the driver.
    """
    if not on_driver:
        return rows.mapInArrow(function, schema)
    batches = list(function(iter(rows.toArrow().to_batches())))
    spark = rows.sparkSession
    return (
        spark.createDataFrame(pa.Table.from_batches(batches))
        if batches
        else spark.createDataFrame([], schema)
    )


def with_any_of(rows: DataFrame, column: str, values: Collection[str], how: str = "left_semi") -> DataFrame:
    """The rows whose column has one of some values; with `left_anti`, the others."""
    wanted = to_frame(rows.sparkSession, pa.table({column: pa.array(list(values), pa.string())}))
    return rows.join(F.broadcast(wanted), column, how)


def in_micros(table: pa.Table) -> pa.Table:
    """The same with each timestamp, those in structs too, as microseconds since 1970."""
    return table.cast(pa.schema([pa.field(each.name, _in_micros(each.type)) for each in table.schema]))


def _in_micros(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(each.name, _in_micros(each.type)) for each in type_])
    return pa.int64() if pa.types.is_timestamp(type_) else type_


def rows_of(table: pa.Table, names: Iterable[str]) -> list[tuple[Any, ...]]:
    """Some columns of a table as tuples."""
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


def transpose(rows: Sequence[tuple[Any, ...]], fields: Sequence[pa.Field]) -> list[pa.Array]:
    """Tuples as arrays; a timestamp is given in microseconds, a struct as a tuple or None."""
    columns = zip(*rows, strict=True) if rows else [()] * len(fields)
    return [_array(values, field.type) for values, field in zip(columns, fields, strict=True)]


def _array(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(type_):
        return pa.array(values, pa.int64()).cast(type_)
    if pa.types.is_struct(type_):
        missing = pa.array([value is None for value in values], pa.bool_())
        nothing = (None,) * type_.num_fields
        rows = [nothing if value is None else value for value in values]
        return pa.StructArray.from_arrays(transpose(rows, list(type_)), fields=list(type_), mask=missing)
    return pa.array(values, type_)
