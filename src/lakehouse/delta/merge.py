"""Merges changes into a table by its key (MERGE)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.contracts.table import DELETED, Table
from lakehouse.rows.time_pruner import TimePruner


@dataclass(frozen=True)
class Scope:
    """A condition that holds for all rows of the table that a merge affects, to prune files.

    The default prunes none.

    Args:
        flag: a column that is true.
        time: a column with a time that is in the ranges of `near`.
        near: time ranges.
    """

    flag: str | None = None
    time: str | None = None
    near: TimePruner | None = None

    def column(self) -> Column:
        """The condition for Spark, on the table as `t`."""
        conditions = [F.lit(True)]
        if self.flag:
            conditions.append(F.col(f"t.{self.flag}"))
        if self.time and self.near:
            conditions.append(self.near.contains(f"t.{self.time}"))
        return all_of(conditions)


def merge_changes(spark: SparkSession, table: Table, changes: DataFrame, scope: Scope) -> None:
    """Merge changes into a table, in one commit.

    Args:
        spark: the job's session.
        table: its contract.
        changes: its columns and `DELETED`, each key once.
        scope: a condition that holds for every affected row.
    """
    matches = F.expr(" AND ".join(f"t.`{key}` <=> s.`{key}`" for key in table.key))
    (
        DeltaTable.forName(spark, table.name)
        .alias("t")
        .merge(changes.alias("s"), scope.column() & matches)
        .whenMatchedDelete(f"s.{DELETED}")
        .whenMatchedUpdateAll()
        .whenNotMatchedInsertAll(f"NOT s.{DELETED}")
        .execute()
    )


def all_of(conditions: Sequence[Column]) -> Column:
    """The conjunction of conditions."""
    return reduce(lambda left, right: left & right, conditions)
