"""Merges changes into a table by its key (MERGE)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.contracts.table import DELETED, Table
from lakehouse.timestamps import from_micros

CUT_OFF = 1_000
"""Microseconds: statistics of times are truncated to milliseconds."""


@dataclass(frozen=True)
class Scope:
    """A condition that holds for all affected rows of a merge, to prune files. The default prunes none.

    Args:
        flag: a column that is true.
        time: a column that lies between `low` and `high`, both included.
        low: the first time, in microseconds; or the first day.
        high: the last one.
    """

    flag: str | None = None
    time: str | None = None
    low: int | date = 0
    high: int | date = 0

    def column(self) -> Column:
        """The condition for Spark, on the table as `t`."""
        conditions = [F.lit(True)]
        if self.flag:
            conditions.append(F.col(f"t.{self.flag}"))
        if self.time:
            low, high = (_instant(end) for end in (self.low, self.high))
            conditions.append(F.col(f"t.{self.time}").between(F.lit(low), F.lit(high)))
        return all_of(conditions)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the condition."""
        return tuple(name for name in (self.flag, self.time) if name)

    def may_have(self, file: Mapping[str, Any]) -> bool:
        """Whether a file may contain affected rows, by its statistics; see `table_log.files_of`."""
        if self.flag and file.get(f"partition.{self.flag}") is False:
            return False
        low, high = file.get(f"min.{self.time}"), file.get(f"max.{self.time}")
        if low is None or high is None:
            return True
        latest: Any = high if isinstance(high, date) else high + CUT_OFF
        return bool(low <= self.high and latest >= self.low)

    def mask(self, rows: pa.Table) -> pa.Array:
        """Which rows meet the condition, given `columns` with times in microseconds."""
        found = pa.array([True] * rows.num_rows, pa.bool_())
        if self.flag:
            found = pc.and_(found, pc.fill_null(rows[self.flag], False))
        if self.time:
            times = rows[self.time]
            is_within = pc.and_(pc.greater_equal(times, self.low), pc.less_equal(times, self.high))
            found = pc.and_(found, pc.fill_null(is_within, False))
        return found


def _instant(end: int | date) -> date:
    return end if isinstance(end, date) else from_micros(end)


def merge_changes(spark: SparkSession, table: Table, changes: DataFrame, scope: Scope) -> None:
    """Merge changes into a table, in one commit.

    Args:
        spark: the job's session.
        table: its contract.
        changes: its columns and `DELETED`, each key once.
        scope: a condition that holds for every affected row.
    """
    matches = all_of([F.col(f"t.{key}").eqNullSafe(F.col(f"s.{key}")) for key in table.key])
    values: dict[str, str | Column] = {column: f"s.`{column}`" for column in table.column_names}
    (
        DeltaTable.forName(spark, table.name)
        .alias("t")
        .merge(changes.alias("s"), scope.column() & matches)
        .whenMatchedDelete(f"s.{DELETED}")
        .whenMatchedUpdate(set=values)
        .whenNotMatchedInsert(f"NOT s.{DELETED}", values)
        .execute()
    )


def all_of(conditions: Sequence[Column]) -> Column:
    """The conjunction of conditions."""
    return reduce(lambda left, right: left & right, conditions)
