"""Merges changes into a table by its key: by MERGE, or by replacing the one partition that they affect."""

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
        flag: a column that is true; if the table is partitioned by it, that partition is replaced.
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


def merge_changes(
    spark: SparkSession, table: Table, changes: DataFrame, scope: Scope, files: int | None = None
) -> None:
    """Merge changes into a table, in one commit.

    Args:
        spark: the session to run in.
        table: its contract.
        changes: its columns and `DELETED`, each key once.
        scope: a condition that holds for every affected row.
        files: number of files that a replaced partition has at most; None: as Spark decides.
    """
    if scope.flag in table.partitioned_by:
        rows = _partition_after(spark, table, changes, scope)
        rows = rows if files is None else rows.coalesce(files)
        rows.writeTo(table.name).overwrite(F.col(str(scope.flag)))
    else:
        _merge(spark, table, changes, scope)


def _partition_after(spark: SparkSession, table: Table, changes: DataFrame, scope: Scope) -> DataFrame:
    """Rows of the partition of the flag, with the changes applied.

    Changed rows may belong to another partition; they are added there. See docs/decisions/0057.
    """
    before = spark.table(table.name).where(str(scope.flag)).alias("t")
    keys = F.broadcast(changes.select(*table.key)).alias("s")
    kept = before.join(keys, F.expr(_same_key(table)), "left_anti")
    changed = changes.where(~F.col(DELETED))
    return kept.select(*table.column_names).union(changed.select(*table.column_names))


def _merge(spark: SparkSession, table: Table, changes: DataFrame, scope: Scope) -> None:
    (
        DeltaTable.forName(spark, table.name)
        .alias("t")
        .merge(changes.alias("s"), scope.column() & F.expr(_same_key(table)))
        .whenMatchedDelete(f"s.{DELETED}")
        .whenMatchedUpdateAll()
        .whenNotMatchedInsertAll(f"NOT s.{DELETED}")
        .execute()
    )


def _same_key(table: Table) -> str:
    return " AND ".join(f"t.`{key}` <=> s.`{key}`" for key in table.key)


def all_of(conditions: Sequence[Column]) -> Column:
    """The conjunction of conditions."""
    return reduce(lambda left, right: left & right, conditions)
