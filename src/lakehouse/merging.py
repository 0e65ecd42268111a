"""MERGE of changes into a table by its key."""

from collections.abc import Sequence
from functools import reduce

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.contracts import Table

GONE = "_gone"
"""The column of changes that says which rows go."""


def merge_changes(spark: SparkSession, table: Table, changes: DataFrame, scope: Column) -> None:
    """Make changes to rows of a table, in one commit.

    Args:
        spark: the job's session.
        table: its contract.
        changes: its columns and `GONE`, each key once.
        scope: a condition on the table, as `t`, that every key concerned meets: it prunes files.
    """
    matches = all_of([F.col(f"t.{key}").eqNullSafe(F.col(f"s.{key}")) for key in table.key])
    values: dict[str, str | Column] = {column: f"s.`{column}`" for column in table.column_names}
    (
        DeltaTable.forName(spark, table.name)
        .alias("t")
        .merge(changes.alias("s"), scope & matches)
        .whenMatchedDelete(f"s.{GONE}")
        .whenMatchedUpdate(set=values)
        .whenNotMatchedInsert(f"NOT s.{GONE}", values)
        .execute()
    )


def all_of(conditions: Sequence[Column]) -> Column:
    """The conjunction of conditions."""
    return reduce(lambda left, right: left & right, conditions)
