"""Lookups: rows of a table by time and key."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.rows.time_pruner import TimePruner


@dataclass(frozen=True)
class Lookup:
    """Columns and conditions of a lookup. A condition of None accepts all rows.

    Args:
        columns: names of the columns to read.
        near: time ranges.
        start: the column whose time has to be in one of the ranges.
        end: if set, the span from `start` to this column has to overlap one of the ranges instead.
        key: a column, and its accepted values, at most some hundreds.
        flag: a column that has to be true.
        above: a numeric column, and a number that it has to exceed.
    """

    columns: tuple[str, ...]
    near: TimePruner | None = None
    start: str = ""
    end: str | None = None
    key: tuple[str, Collection[str] | Collection[int] | Collection[date]] | None = None
    flag: str | None = None
    above: tuple[str, int] | None = None

    def of_frame(self, rows: DataFrame) -> DataFrame:
        """The matching rows of a frame."""
        if self.near is not None:
            rows = rows.where(self.near.overlaps(self.start, self.end or self.start))
        if self.flag is not None:
            rows = rows.where(self.flag)
        if self.above is not None:
            rows = rows.where(F.col(self.above[0]) > self.above[1])
        if self.key is not None:
            rows = rows.where(F.col(self.key[0]).isin(*self.key[1]))
        return rows.select(*self.columns)
