"""Small tables between the driver and Spark: Arrow to a frame, and a frame to Arrow."""

from collections.abc import Collection, Iterable, Sequence
from datetime import date
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type


def to_frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    """A frame of the rows of a table, kept on the driver while it is small."""
    if not table.num_rows:  # of structs without a row pyspark makes no array
        return spark.createDataFrame([], from_arrow_schema(table.schema))
    return spark.createDataFrame(table)


def with_any_of(
    rows: DataFrame,
    column: str,
    values: Collection[str] | Collection[int] | Collection[date],
    how: str = "left_semi",
) -> DataFrame:
    """The rows whose column has one of some values; with `left_anti`, the others."""
    type_ = to_arrow_type(rows.schema[column].dataType)
    wanted = to_frame(rows.sparkSession, pa.table({column: pa.array(list(values), type_)}))
    return rows.join(F.broadcast(wanted), column, how)


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
