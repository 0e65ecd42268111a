"""Python functions over groups of rows of several kinds, partitioned by a key."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from lakehouse.rows.arrow_frames import make_rows, struct_values, transpose
from lakehouse.rows.arrow_times import in_micros
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.driver_or_spark import KEY, Rows, as_frame
from lakehouse.rows.garbage import expect_many_rows
from lakehouse.rows.worker_pool import count_parts, map_parts, split_by_key


class GroupedRows:
    """Rows of whole groups, with times in microseconds.

    Args:
        kinds: rows with `KEY`, by kind.
    """

    def __init__(self, kinds: Mapping[str, pa.Table]) -> None:
        self._kinds = kinds

    @classmethod
    def of_union(cls, rows: pa.Table) -> "GroupedRows":
        """From rows of `union_by_kind`."""
        names = [name for name in rows.column_names if name != KEY]
        return cls({name: _of_kind(rows, name) for name in names})

    def group_keys(self) -> list[Any]:
        """The keys of the groups, each once."""
        return list(dict.fromkeys(key for rows in self._kinds.values() for key in rows[KEY].to_pylist()))

    def rows(self, kind: str, make: Callable[..., Any], **nested: Callable[..., Any]) -> dict[Any, list[Any]]:
        """Rows of one kind, by key.

        Args:
            kind: the kind.
            make: makes a row from the values of its columns, in order.
            nested: by struct column, the function that makes its values.
        """
        table = self._kinds.get(kind)
        if table is None:
            return {}
        names = [name for name in table.column_names if name != KEY]
        columns = [_values(table[name], nested.get(name)) for name in names]
        found: dict[Any, list[Any]] = defaultdict(list)
        for key, row in zip(table[KEY].to_pylist(), make_rows(columns, make), strict=True):
            found[key].append(row)
        return found


Fold = Callable[[GroupedRows], Iterable[pa.RecordBatch]]
"""A function from whole groups to rows of the result."""


def union_by_kind(kinds: Mapping[str, DataFrame]) -> DataFrame:
    """The union of frames of several kinds.

    Args:
        kinds: frames with `KEY`, by kind.

    Returns:
        `KEY`, and for each kind a struct of the frame's other columns. In each row, one struct is not null.
    """
    frames = [
        rows.select(KEY, F.struct(*(name for name in rows.columns if name != KEY)).alias(kind))
        for kind, rows in kinds.items()
    ]
    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), frames)


def map_groups(rows: DataFrame, fold: Fold, schema: pa.Schema) -> DataFrame:
    """Run a function over whole groups of rows, in Spark's Python workers.

    A loop over sorted rows costs less than `applyInArrow`, which calls Python once per group.

    Args:
        rows: the result of `union_by_kind`.
        fold: called with whole groups, about 10,000 rows or one group at a time.
        schema: schema of the result. Columns that a batch of the fold lacks are null.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        expect_many_rows()
        for table in whole_groups(batches):
            for batch in fold(GroupedRows.of_union(in_micros(table))):
                yield _with_all_columns(batch, schema)

    sorted_rows = rows.repartition(KEY).sortWithinPartitions(KEY)
    return sorted_rows.mapInArrow(run, from_arrow_schema(schema))


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


def _of_kind(rows: pa.Table, kind: str) -> pa.Table:
    present = rows.filter(pc.is_valid(rows[kind]))
    values = present[kind].combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    return pa.table([present[KEY], *values.flatten()], names=[KEY, *(field.name for field in values.type)])


def _values(array: pa.ChunkedArray, make: Callable[..., Any] | None) -> list[Any]:
    return array.to_pylist() if make is None else struct_values(array, make)


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


def _with_all_columns(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    present = {name: batch.column(name) for name in batch.schema.names}
    columns = [
        present[field.name] if field.name in present else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _fold_part(fold: Fold, tables: Mapping[str, pa.Table]) -> list[pa.Table]:
    """The result of a fold, with batches of the same columns joined to one table."""
    batches: dict[tuple[str, ...], list[pa.RecordBatch]] = defaultdict(list)
    for batch in fold(GroupedRows(tables)):
        batches[tuple(batch.schema.names)].append(batch)
    return [pa.Table.from_batches(each) for each in batches.values()]


@dataclass(frozen=True)
class Groups:
    """Groups of rows, and the fold over them.

    Args:
        kinds: rows with `KEY`, by kind.
        fold: called with some whole groups at a time.
        schema: schema of the fold's result.
    """

    kinds: Mapping[str, Rows]
    fold: Fold
    schema: pa.Schema

    def spread(self, spark: SparkSession) -> DataFrame:
        """The result of the fold as a plan for Spark's Python workers."""
        frames = {kind: as_frame(spark, rows) for kind, rows in self.kinds.items()}
        return map_groups(union_by_kind(frames), self.fold, self.schema)

    def collect(self) -> list[pa.Table]:
        """The result of the fold, computed now: in this process, or in worker processes for many rows.

        Returns:
            Tables of one kind each, or of all columns if the fold has no kinds.
        """
        tables = {
            kind: in_micros(rows.toArrow() if isinstance(rows, DataFrame) else rows)
            for kind, rows in self.kinds.items()
        }
        parts = split_by_key(tables, KEY, count_parts(sum(rows.num_rows for rows in tables.values())))
        return list(chain.from_iterable(map_parts(partial(_fold_part, self.fold), parts)))


class Computed:
    """The result of a fold, computed once: on the driver if it is small, else checkpointed in Spark.

    Args:
        groups: the groups, and the fold over them.
        spark: the job's session.
        is_small: whether groups and result fit on the driver.
    """

    def __init__(self, groups: Groups, spark: SparkSession, is_small: bool) -> None:
        self._spark = spark
        self._schema = groups.schema
        self._frame = None if is_small else checkpoint(groups.spread(spark))
        self._tables = groups.collect() if is_small else []

    def rows(self, kind: str) -> Rows:
        """The rows of one kind, on the driver or in Spark; a column for each field of the struct."""
        if self._frame is not None:
            return self._frame.where(F.col(kind).isNotNull()).select(f"{kind}.*")
        return self.table(kind)

    def frame(self, kind: str) -> DataFrame:
        """The rows of one kind as a frame."""
        return as_frame(self._spark, self.rows(kind))

    def table(self, kind: str) -> pa.Table:
        """The rows of one kind on the driver."""
        if self._frame is not None:
            found = self.rows(kind)
            return found.toArrow() if isinstance(found, DataFrame) else found
        theirs = [table[kind] for table in self._tables if kind in table.column_names]
        chunks = chain.from_iterable(column.chunks for column in theirs)
        return pa.Table.from_batches(
            [pa.RecordBatch.from_struct_array(chunk) for chunk in chunks],
            schema=pa.schema(list(self._schema.field(kind).type)),
        )

    def all_rows(self) -> Rows:
        """All rows of a fold without kinds."""
        if self._frame is not None:
            return self._frame
        return pa.concat_tables([self._schema.empty_table(), *self._tables])
