"""Python functions over groups of rows of several kinds, in Spark's Python workers (`mapInArrow`)."""

import gc
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from lakehouse.rows.arrow_frames import make_rows, struct_values, transpose
from lakehouse.rows.arrow_times import in_micros
from lakehouse.rows.partitions import in_few_partitions

KEY = "_key"
"""Column of the group key; never null."""

_OBJECTS_PER_COLLECTION = 100_000
"""Rows are tuples without reference cycles. With Python's default of 700, making them takes twice as long."""


class GroupedRows:
    """Rows of whole groups, with times in microseconds.

    Args:
        keys: the keys of the groups, each once, in order.
        kinds: rows with `KEY`, by kind.
    """

    def __init__(self, keys: Sequence[Any], kinds: Mapping[str, pa.Table]) -> None:
        self.keys = keys
        self._kinds = kinds

    @classmethod
    def of_union(cls, rows: pa.Table) -> "GroupedRows":
        """From rows of `union_by_kind`."""
        names = [name for name in rows.column_names if name != KEY]
        return cls(pc.unique(rows[KEY]).to_pylist(), {name: part_of(rows, name) for name in names})

    def rows(self, kind: str, make: Callable[..., Any], **nested: Callable[..., Any]) -> dict[Any, list[Any]]:
        """Rows of one kind, by key.

        Args:
            kind: the kind.
            make: makes a row from the values of its columns, in order.
            nested: by struct column, or column of lists of structs, the function that makes a struct's value.
        """
        table = self._kinds.get(kind)
        found: dict[Any, list[Any]] = defaultdict(list)
        if table is not None:
            rows = table_rows(table.drop_columns(KEY), make, **nested)
            for key, row in zip(table[KEY].to_pylist(), rows, strict=True):
                found[key].append(row)
        return found

    def table(self, kind: str) -> pa.Table:
        """`KEY` and the columns of one kind."""
        return self._kinds[kind]


def table_rows(table: pa.Table, make: Callable[..., Any], **nested: Callable[..., Any]) -> Iterator[Any]:
    """Rows from the columns of a table; see `GroupedRows.rows`."""
    columns = [_values(table[name], nested.get(name)) for name in table.column_names]
    return make_rows(columns, make)


Fold = Callable[[GroupedRows], Iterable[pa.RecordBatch]]
"""A function from whole groups to rows of the result."""

FoldParts = Callable[[Iterator[GroupedRows]], Iterator[pa.RecordBatch]]
"""A function from all groups of a partition; see `map_ordered_groups`."""


def union_by_kind(kinds: Mapping[str, DataFrame]) -> DataFrame:
    """The union of frames of several kinds.

    Args:
        kinds: frames with `KEY`, by kind.

    Returns:
        `KEY`, and for each kind a struct of the frame's other columns. In each row, one struct is not null.
    """
    types = {kind: _struct_of(rows) for kind, rows in kinds.items()}
    frames = [
        rows.selectExpr(
            KEY,
            *(
                f"{_struct(columns) if each == kind else _no_struct(columns)} AS {each}"
                for each, columns in types.items()
            ),
        )
        for kind, rows in kinds.items()
    ]
    return in_few_partitions(reduce(DataFrame.union, frames))


def _struct_of(rows: DataFrame) -> StructType:
    return StructType([field for field in rows.schema if field.name != KEY])


def _struct(columns: StructType) -> str:
    return f"struct({', '.join(f'`{name}`' for name in columns.names)})"


def _no_struct(columns: StructType) -> str:
    return f"CAST(NULL AS {columns.simpleString()})"


def with_key(rows: DataFrame, key: str | Column, names: Sequence[str]) -> DataFrame:
    """Some columns of a frame, and a column or an expression as `KEY`."""
    return rows.select((F.col(key) if isinstance(key, str) else key).alias(KEY), *names)


def map_groups(kinds: Mapping[str, DataFrame], fold: Fold, schema: pa.Schema) -> DataFrame:
    """Run a function over whole groups of rows: one shuffle by `KEY`, one pass in Python.

    A loop over sorted rows costs less than `applyInArrow`, which calls Python once per group.

    Args:
        kinds: frames with `KEY`, by kind.
        fold: called with whole groups, about 10,000 rows or one group at a time.
        schema: schema of the result. Columns that a batch of the fold lacks are null.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gc.set_threshold(_OBJECTS_PER_COLLECTION, 10, 10)
        for table in whole_groups(batches):
            for batch in fold(GroupedRows.of_union(in_micros(table))):
                yield with_all_columns(batch, schema)

    sorted_rows = union_by_kind(kinds).repartition(KEY).sortWithinPartitions(KEY)
    return sorted_rows.mapInArrow(run, from_arrow_schema(schema))


def map_ordered_groups(
    kinds: Mapping[str, DataFrame], order: Mapping[str, str], fold: FoldParts, schema: pa.Schema
) -> DataFrame:
    """Run a function over groups that may be larger than memory, with the rows of a group in order.

    Args:
        kinds: frames with `KEY`, by kind.
        order: by kind, the column that a group's rows are in order of; comparable between kinds.
        fold: called once per partition, with an Arrow batch of rows at a time, about 10,000 rows. A group may
            continue in the next batch; no group comes back after another one.
        schema: schema of the result. Columns that a batch of the fold lacks are null.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gc.set_threshold(_OBJECTS_PER_COLLECTION, 10, 10)
        parts = (in_micros(pa.Table.from_batches([batch])) for batch in batches if batch.num_rows)
        for batch in fold(GroupedRows.of_union(part) for part in parts):
            yield with_all_columns(batch, schema)

    at = F.coalesce(*(F.col(f"{kind}.{column}") for kind, column in order.items()))
    return (
        union_by_kind(kinds)
        .repartition(KEY)
        .sortWithinPartitions(KEY, at)
        .mapInArrow(run, from_arrow_schema(schema))
    )


def rows_of_kind(folded: DataFrame, kind: str) -> DataFrame:
    """The rows of one kind in a fold's result, with a column for each field of its struct."""
    return folded.where(f"{kind} IS NOT NULL").select(f"{kind}.*")


def whole_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches of rows ordered by `KEY`, split only between groups."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        keys = batch.column(KEY)
        begins = batch.num_rows - pc.sum(pc.equal(keys, keys[-1])).as_py()
        if waiting and (begins or waiting[-1].column(KEY)[-1] != keys[-1]):
            yield pa.Table.from_batches([*waiting, batch.slice(0, begins)])
            waiting = []
        elif begins:
            yield pa.Table.from_batches([batch.slice(0, begins)])
        waiting.append(batch.slice(begins))
    if waiting:
        yield pa.Table.from_batches(waiting)


def part_of(rows: pa.Table, kind: str) -> pa.Table:
    """`KEY` and the fields of a column of structs, of the rows in which it is not null."""
    present = rows.filter(pc.is_valid(rows[kind]))
    values = present[kind].combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    return pa.table([present[KEY], *values.flatten()], names=[KEY, *(field.name for field in values.type)])


def _values(array: pa.ChunkedArray, make: Callable[..., Any] | None) -> list[Any]:
    if make is None:
        values: list[Any] = array.to_pylist()
        return values
    return _lists(array, make) if pa.types.is_list(array.type) else struct_values(array, make)


def _lists(array: pa.ChunkedArray, make: Callable[..., Any]) -> list[list[Any] | None]:
    """Values of a column of lists of structs."""
    found: list[list[Any] | None] = []
    for chunk in array.chunks:
        values = iter(struct_values(pa.chunked_array([chunk.flatten()]), make))
        lengths = chunk.value_lengths().to_pylist()
        found += [None if length is None else list(islice(values, length)) for length in lengths]
    return found


def batch_of_kind(schema: pa.Schema, kind: str, rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    """Rows of one kind as a batch of the result; the structs of other kinds are null.

    Args:
        schema: schema of the result: a struct for each kind.
        kind: the kind of the rows.
        rows: values of the struct's fields, in order; times in microseconds.
    """
    type_ = schema.field(kind).type
    structs = pa.StructArray.from_arrays(transpose(rows, list(type_)), fields=list(type_))
    return pa.RecordBatch.from_arrays([structs], schema=pa.schema([schema.field(kind)]))


def with_all_columns(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch with the columns of a schema; those that it lacks are null."""
    present = {name: batch.column(name) for name in batch.schema.names}
    columns = [
        present[field.name] if field.name in present else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
