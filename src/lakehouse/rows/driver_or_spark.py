"""Rows on the driver (Arrow) or in Spark: the same operations for few rows and for many."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.contracts import TABLES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.lookup import Lookup
from lakehouse.rows.arrow_frames import to_frame, transpose
from lakehouse.rows.arrow_times import in_micros
from lakehouse.rows.checkpointing import checkpoint

Rows: TypeAlias = DataFrame | pa.Table
"""An Arrow table has times in microseconds, or as timestamps."""

KEY = "_key"
"""Column of the group key; never null."""


@dataclass(frozen=True)
class Source:
    """Reads rows of tables, to the driver or as frames.

    Args:
        lake: the tables.
        on_driver: whether the rows are few enough to be read on the driver.
    """

    lake: Lakehouse
    on_driver: bool

    @classmethod
    def of(cls, lake: Lakehouse, name: str, wanted: Lookup, most: int) -> "Source":
        """A source on the driver if, by the table's log, a lookup reads at most `most` rows."""
        lake.version(name)  # creates the table if it does not exist
        local = lake.local.of(name)
        if local is None:
            return cls(lake, on_driver=False)
        return cls(lake, local.count_at_most(TABLES[name], wanted, lake.pinned(name)) <= most)

    def look_up(self, name: str, wanted: Lookup) -> Rows:
        """Rows of a table."""
        return self.lake.find(name, wanted) if self.on_driver else wanted.of_frame(self.lake.read(name))


def local_rows(fields: Sequence[pa.Field], rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    """Tuples as an Arrow table; times in microseconds."""
    return pa.Table.from_arrays(transpose(rows, fields), schema=pa.schema(fields))


def with_key(rows: Rows, column: str, names: Sequence[str]) -> Rows:
    """Some columns, with one of them as `KEY`."""
    if isinstance(rows, DataFrame):
        return rows.select(F.col(column).alias(KEY), *names)
    return rows.select(list(names)).add_column(0, KEY, rows[column])


def with_columns_of(rows: Rows, column: str, others: pa.Table, names: Sequence[str]) -> Rows:
    """An inner join on a column, with the other columns of the right side.

    Args:
        rows: the left side.
        column: a column of strings, in both sides.
        others: the right side; each value of the column once.
        names: the columns to keep, of both sides, in order.
    """
    if isinstance(rows, DataFrame):
        return rows.join(F.broadcast(as_frame(rows.sparkSession, others)), column).select(*names)
    places = pc.index_in(rows[column], others[column].combine_chunks())
    is_there = places.is_valid()
    matched, found = rows.filter(is_there), others.take(places.filter(is_there))
    columns = [matched[name] if name in rows.column_names else found[name] for name in names]
    return pa.table(columns, names=list(names))


def with_number(rows: Rows, name: str, number: int) -> Rows:
    """Rows with a constant column."""
    if isinstance(rows, DataFrame):
        return rows.withColumn(name, F.lit(number).cast("bigint"))
    return rows.append_column(name, pa.repeat(pa.scalar(number, pa.int64()), rows.num_rows))


def union(first: Rows, second: Rows) -> Rows:
    """The union of rows with the same columns. The second are on the driver, or in Spark as the first."""
    if not isinstance(first, DataFrame):
        return pa.concat_tables([first, second])
    return first.unionByName(as_frame(first.sparkSession, second))


def count_rows(rows: Rows) -> int:
    """Number of rows."""
    return rows.count() if isinstance(rows, DataFrame) else int(rows.num_rows)


def is_empty(rows: Rows) -> bool:
    """Whether there are no rows."""
    return rows.isEmpty() if isinstance(rows, DataFrame) else not rows.num_rows


def as_frame(spark: SparkSession, rows: Rows) -> DataFrame:
    """The rows as a frame."""
    return rows if isinstance(rows, DataFrame) else to_frame(spark, rows)


def on_driver(rows: Rows) -> pa.Table:
    """The rows as an Arrow table, times in microseconds."""
    return in_micros(rows.toArrow()) if isinstance(rows, DataFrame) else rows


def computed(rows: Rows, names: Sequence[str]) -> Rows:
    """Some columns of the rows; a frame is checkpointed."""
    return checkpoint(rows.select(*names)) if isinstance(rows, DataFrame) else rows.select(list(names))
