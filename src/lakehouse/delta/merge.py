"""Merges changes into a table by its key (MERGE)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import reduce

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.contracts.table import DELETED, Table
from lakehouse.timestamps import from_micros


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

    def sql(self) -> list[str]:
        """The condition for DataFusion, on the table as `t`."""
        conditions = [f't."{self.flag}"'] if self.flag else []
        if self.time:
            low, high = (_literal(end) for end in (self.low, self.high))
            conditions.append(f't."{self.time}" BETWEEN {low} AND {high}')
        return conditions


def _instant(end: int | date) -> date:
    return end if isinstance(end, date) else from_micros(end)


def _literal(end: int | date) -> str:
    if isinstance(end, date):
        return f"DATE '{end.isoformat()}'"
    return f"""arrow_cast({end}, 'Timestamp(Microsecond, Some("UTC"))')"""


def merge_changes(spark: SparkSession, table: Table, changes: DataFrame, scope: Scope) -> None:
    """Merge changes into a table, in one commit.

    Args:
        spark: the job's session.
        table: its contract.
        changes: its columns and `GONE`, each key once.
        scope: what every key concerned meets.
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
