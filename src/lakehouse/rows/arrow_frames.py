"""Converts small tables between Arrow and Spark."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, starmap
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

T = TypeVar("T")


def to_frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    """A frame from an Arrow table, kept on the driver while it is small."""
    if not table.num_rows:  # pyspark makes no array from structs without rows
        return spark.createDataFrame([], from_arrow_schema(table.schema))
    return spark.createDataFrame(table)


def rows_of(table: pa.Table, names: Iterable[str]) -> list[tuple[Any, ...]]:
    """Some columns of a table as tuples."""
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


def make_rows(columns: Sequence[Sequence[Any]], make: Callable[..., T]) -> Iterator[T]:
    """Rows from columns, in order.

    Args:
        columns: values by column, all of the same length.
        make: makes a row from the values of the columns. A named tuple with as many fields is made without
            calling Python code, which takes half the time.
    """
    rows: Iterator[Any] = zip(*columns, strict=True)
    if make is tuple:
        return rows
    if len(getattr(make, "_fields", ())) == len(columns):
        row_class: Any = make
        return map(partial(tuple.__new__, row_class), rows)
    return starmap(make, rows)


def struct_values(array: pa.ChunkedArray, make: Callable[..., T]) -> list[T | None]:
    """Values of a column of structs.

    Args:
        array: the column.
        make: makes a value from the struct's fields, passed by name.
    """
    names = [field.name for field in array.type]
    if sorted(getattr(make, "_fields", ())) != sorted(names):
        return [None if value is None else make(**value) for value in array.to_pylist()]
    order: list[str] = make._fields  # type: ignore[attr-defined]
    found: list[T | None] = []
    for chunk in array.chunks:
        fields = dict(zip(names, chunk.flatten(), strict=True))
        made = make_rows([fields[name].to_pylist() for name in order], make)
        valid = chunk.is_valid().to_pylist()
        found += [value if is_valid else None for value, is_valid in zip(made, valid, strict=True)]
    return found


def transpose(rows: Sequence[tuple[Any, ...]], fields: Sequence[pa.Field]) -> list[pa.Array]:
    """Arrays from tuples, in which a timestamp is in microseconds and a struct is a tuple or None."""
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
    if pa.types.is_list(type_) and pa.types.is_struct(type_.value_type):
        return _list_array(values, type_)
    return pa.array(values, type_)


def _list_array(lists: Sequence[Sequence[Any]], type_: pa.DataType) -> pa.Array:
    """Lists of structs, none of them null."""
    ends = list(accumulate(map(len, lists), initial=0))
    elements = _array([each for one in lists for each in one], type_.value_type)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), elements)
