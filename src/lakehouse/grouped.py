"""Python over groups of rows: frames of several kinds of rows together, partitioned by a key.

A row of the union has the key and, for each kind, a struct, of which all but one are null.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from lakehouse.arrow_frames import in_micros, transpose

KEY = "_key"
"""The column whose equal values make a group; never null."""

Fold = Callable[[pa.Table], Iterable[pa.RecordBatch]]
"""Takes the rows of some whole groups, times in microseconds, and gives rows of the result."""


def union_by_kind(kinds: Mapping[str, DataFrame]) -> DataFrame:
    """Frames of several kinds of rows as one.

    Args:
        kinds: by kind, a frame with `KEY`.

    Returns:
        `KEY`, and for each kind a struct of the frame's other columns.
    """
    frames = [
        rows.select(KEY, F.struct(*(name for name in rows.columns if name != KEY)).alias(kind))
        for kind, rows in kinds.items()
    ]
    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), frames)


def map_groups(rows: DataFrame, fold: Fold, schema: pa.Schema) -> DataFrame:
    """Run a function over whole groups of rows, in the Python workers of Spark.

    A loop over sorted rows costs less than `applyInArrow`, which calls Python once a group.

    Args:
        rows: as `union_by_kind` gives them.
        fold: called with some groups at a time, some 10,000 rows or one group.
        schema: of what it gives.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in whole_groups(batches):
            yield from fold(in_micros(table))

    sorted_rows = rows.repartition(KEY).sortWithinPartitions(KEY)
    return sorted_rows.mapInArrow(run, from_arrow_schema(schema))


def whole_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches of rows in order of `KEY`, cut between two groups."""
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


def rows_by_key(
    table: pa.Table, kind: str, make: Callable[..., Any], **nested: Callable[..., Any]
) -> dict[Any, list[Any]]:
    """Rows of one kind, by key.

    Args:
        table: of groups, as a fold is given it.
        kind: the struct column of the kind.
        make: makes a row from the fields of the struct, in their order.
        nested: by field that is a struct, what makes a value of it.
    """
    if kind not in table.column_names:
        return {}
    rows = table.filter(pc.is_valid(table[kind]))
    values = rows[kind].combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    columns = [
        _values(field, nested.get(name.name))
        for name, field in zip(values.type, values.flatten(), strict=True)
    ]
    found: dict[Any, list[Any]] = defaultdict(list)
    for value, fields in zip(rows[KEY].to_pylist(), zip(*columns, strict=True), strict=True):
        found[value].append(make(*fields))
    return found


def _values(array: pa.Array, make: Callable[..., Any] | None) -> list[Any]:
    if make is None:
        return list(array.to_pylist())
    return [None if value is None else make(**value) for value in array.to_pylist()]


def batch_of_kind(schema: pa.Schema, kind: str, rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    """Rows of one kind as a batch of the result: structs of that kind, the others null.

    Args:
        schema: of the result: a struct for each kind.
        kind: which.
        rows: the fields of the struct, in their order; times in microseconds.
    """
    type_ = schema.field(kind).type
    structs = pa.StructArray.from_arrays(transpose(rows, list(type_)), fields=list(type_))
    columns = [structs if field.name == kind else pa.nulls(len(rows), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


@dataclass(frozen=True)
class Groups:
    """Groups of rows and the fold over them.

    Args:
        rows: as `union_by_kind` gives them.
        fold: called with some whole groups at a time.
        schema: of what it gives.
    """

    rows: DataFrame
    fold: Fold
    schema: pa.Schema

    def spread(self) -> DataFrame:
        """What the fold gives, computed by Spark's Python workers whenever the frame is."""
        return map_groups(self.rows, self.fold, self.schema)

    def collect(self) -> pa.Table:
        """What the fold gives, computed here and now: for few rows that is quicker than reaching a worker."""
        return pa.Table.from_batches(list(self.fold(in_micros(self.rows.toArrow()))), self.schema)


class Computed:
    """What a fold gave, computed once: on the driver if it is little, else where Spark keeps it.

    Args:
        groups: and the fold over them.
        is_small: whether both fit on the driver.
        checkpoint: computes a frame for good.
    """

    def __init__(self, groups: Groups, is_small: bool, checkpoint: Callable[[DataFrame], DataFrame]) -> None:
        self._spark = groups.rows.sparkSession
        self._table: pa.Table | None = groups.collect() if is_small else None
        self._frame = groups.rows if is_small else checkpoint(groups.spread())
        self.is_small = is_small

    def whole(self) -> DataFrame:
        """All rows as a frame."""
        return self._frame if self._table is None else self._spark.createDataFrame(self._table)

    def is_empty(self) -> bool:
        """Whether there are no rows."""
        return self._frame.isEmpty() if self._table is None else not self._table.num_rows

    def table(self, kind: str) -> pa.Table:
        """The rows of one kind, on the driver; a column for each field of the struct."""
        if self._table is None:
            return self.frame(kind).toArrow()
        rows = self._table.filter(pc.is_valid(self._table[kind])).select([kind])
        return pa.Table.from_batches(
            [pa.RecordBatch.from_struct_array(chunk) for chunk in rows[kind].chunks],
            schema=pa.schema(list(rows.schema.field(kind).type)),
        )

    def frame(self, kind: str) -> DataFrame:
        """The rows of one kind; a column for each field of the struct."""
        if self._table is not None:
            return self._spark.createDataFrame(self.table(kind))
        return self._frame.where(F.col(kind).isNotNull()).select(f"{kind}.*")
