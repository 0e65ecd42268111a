"""Queries on a table. Every backend returns the same frame for the same query."""

from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, Literal

import polars as pl

How = Literal["sum", "min", "max", "count", "distinct"]
Op = Literal["=", "!=", "<", "<=", ">", ">=", "in", "not in", "starts", "matches", "null", "not null"]
Value = str | int | float | bool | date | datetime | tuple[str, ...] | None


@dataclass(frozen=True)
class Measure:
    """An aggregate over the rows of a group.

    Args:
        name: name of the column in the result.
        how: `count` counts rows; `distinct` counts distinct non-null values; `sum` of no rows is 0. Each is
            null if it follows from a column that the viewer's role does not see.
        column: the aggregated column; empty for `count`.
    """

    name: str
    how: How
    column: str = ""


@dataclass(frozen=True)
class Where:
    """A condition. As in SQL, a null value satisfies only `null`, and not `!=`.

    `matches` looks for a regular expression anywhere in a text, in the syntax that Java and Rust share.
    """

    column: str
    op: Op
    value: Value = None


@dataclass(frozen=True)
class Query:
    """A query on one table. Its values are always passed as data, never as SQL text.

    Args:
        table: `layer.table`.
        columns: the columns to return; with measures, the columns to group by.
        measures: aggregates over each group, or over all rows if there are no columns.
        where: conditions, combined by AND.
        order: columns of the result, or of the table if there are no measures. A leading `-` means
            descending. Nulls are last.
        limit: maximum number of rows.
    """

    table: str
    columns: tuple[str, ...] = ()
    measures: tuple[Measure, ...] = ()
    where: tuple[Where, ...] = ()
    order: tuple[str, ...] = ()
    limit: int | None = None

    def only(self, column: str, op: Op, value: Value = None) -> "Query":
        """The query with one more condition."""
        return replace(self, where=(*self.where, Where(column, op, value)))

    def within(self, column: str, start: Any, end: Any) -> "Query":
        """The query for rows from `start` (included) to `end` (excluded)."""
        return self.only(column, ">=", start).only(column, "<", end)

    def one_of(self, column: str, values: tuple[str, ...]) -> "Query":
        """The query for rows with one of these values; unchanged if there are no values."""
        return self.only(column, "in", values) if values else self


@dataclass(frozen=True)
class Version:
    """A table version: its number, and a stamp that differs if the table was created again."""

    number: int
    stamp: str = field(default="")


@dataclass(frozen=True)
class Facts:
    """Size and age of a table version, from its Delta log.

    Args:
        rows: number of rows; None if the log has no statistics.
        files: number of data files.
        size: size of the files in bytes.
        changed_at: when the version was written (UTC).
    """

    rows: int | None
    files: int
    size: int
    changed_at: datetime | None


def sums(*names: str) -> tuple[Measure, ...]:
    """The sum of each column, named like the column."""
    return tuple(Measure(name, "sum", name) for name in names)


def sum_seen(column: str | pl.Expr) -> pl.Expr:
    """The sum of results of a query; null if one is, since the viewer's role does not see the column."""
    parts = pl.col(column) if isinstance(column, str) else column
    return pl.when(parts.null_count() == 0).then(parts.sum())
