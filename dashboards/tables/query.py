"""What can be asked of a table. Every backend answers the same question with the same frame."""

from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, Literal

How = Literal["sum", "min", "max", "count", "distinct"]
Op = Literal["=", "!=", "<", "<=", ">", ">=", "in", "not in", "starts", "null", "not null"]
Value = str | int | float | bool | date | datetime | tuple[str, ...] | None


@dataclass(frozen=True)
class Measure:
    """A figure over the rows of a group.

    Args:
        name: of the column in the answer.
        how: `count` counts rows; `distinct` values that are not null; `sum` of nothing is 0.
        column: what it is taken of; of a `count`, none.
    """

    name: str
    how: How
    column: str = ""


@dataclass(frozen=True)
class Where:
    """A condition. As in SQL, null meets none but `null`; and `!=` doesn't hold for it."""

    column: str
    op: Op
    value: Value = None


@dataclass(frozen=True)
class Query:
    """A question to one table; the values in it are data, wherever they come from.

    Args:
        table: `layer.table`.
        columns: to return; with measures, to group by.
        measures: over each group; over all rows, if there are no columns.
        where: all of them hold.
        order: columns of the answer, or of the table if there are no measures; those with `-` before
            them backwards; null is last.
        limit: rows at most.
    """

    table: str
    columns: tuple[str, ...] = ()
    measures: tuple[Measure, ...] = ()
    where: tuple[Where, ...] = ()
    order: tuple[str, ...] = ()
    limit: int | None = None

    def only(self, column: str, op: Op, value: Value = None) -> "Query":
        """The same question with one more condition."""
        return replace(self, where=(*self.where, Where(column, op, value)))

    def within(self, column: str, start: Any, end: Any) -> "Query":
        """The same question of rows from `start` (included) to `end` (excluded)."""
        return self.only(column, ">=", start).only(column, "<", end)

    def one_of(self, column: str, values: tuple[str, ...]) -> "Query":
        """The same question of rows with one of these values; of all rows, if there are none."""
        return self.only(column, "in", values) if values else self


@dataclass(frozen=True)
class Version:
    """What a table is at: its number, and what tells it from one made anew with the same number."""

    number: int
    stamp: str = field(default="")


@dataclass(frozen=True)
class Facts:
    """What a table's log says of it.

    Args:
        rows: in it; None if the log doesn't say.
        files: it consists of.
        size: of them, in bytes.
        changed_at: when its version was written (UTC).
    """

    rows: int | None
    files: int
    size: int
    changed_at: datetime | None


def sums(*names: str) -> tuple[Measure, ...]:
    """The sum of each of these columns, under its own name."""
    return tuple(Measure(name, "sum", name) for name in names)
