"""Conditions on rows, as expressions of pyarrow for files and as SQL for a warehouse."""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from lakehouse.rows.duckdb_sql import spark_text_literal

Range = tuple[int, int]
"""A range, first excluded, last included."""


class Condition(Protocol):
    """A condition on one row."""

    @property
    def expression(self) -> Any:
        """As an expression of `pyarrow.compute`, by which files are skipped too."""

    @property
    def sql(self) -> str:
        """As SQL of Spark."""


@dataclass(frozen=True)
class TimeWithin:
    """The time of a column, in microseconds since 1970, is in one of some ranges."""

    column: str
    ranges: Collection[Range]

    @property
    def expression(self) -> Any:
        """As an expression."""
        condition = pc.scalar(False)
        for after, upto in self.ranges:
            low, high = (pa.scalar(each, pa.timestamp("us", tz="UTC")) for each in (after, upto))
            condition |= (pc.field(self.column) > low) & (pc.field(self.column) <= high)
        return condition

    @property
    def sql(self) -> str:
        """As SQL."""
        parts = (
            f"`{self.column}` > timestamp_micros({after:d}) AND `{self.column}` <= timestamp_micros({upto:d})"
            for after, upto in self.ranges
        )
        return " OR ".join(f"({part})" for part in parts) or "1 = 0"


@dataclass(frozen=True)
class AtMost:
    """The number of a column is at most another, and above a third one if that is given."""

    column: str
    upto: int
    after: int | None = None

    @property
    def expression(self) -> Any:
        """As an expression."""
        condition = pc.field(self.column) <= self.upto
        return condition if self.after is None else condition & (pc.field(self.column) > self.after)

    @property
    def sql(self) -> str:
        """As SQL."""
        low = "" if self.after is None else f" AND `{self.column}` > {self.after:d}"
        return f"`{self.column}` <= {self.upto:d}{low}"


@dataclass(frozen=True)
class NotNull:
    """A column has a value."""

    column: str

    @property
    def expression(self) -> Any:
        """As an expression."""
        return pc.field(self.column).is_valid()

    @property
    def sql(self) -> str:
        """As SQL."""
        return f"`{self.column}` IS NOT NULL"


@dataclass(frozen=True)
class IsIn:
    """The text of a column is one of some."""

    column: str
    values: Collection[str]

    @property
    def expression(self) -> Any:
        """As an expression."""
        return pc.field(self.column).cast(pa.string()).isin(pa.array(sorted(self.values), pa.string()))

    @property
    def sql(self) -> str:
        """As SQL: a semi-join, since there may be many."""
        texts = spark_text_literal(json.dumps(sorted(self.values)))
        return f"`{self.column}` IN (SELECT explode(from_json({texts}, 'array<string>')))"


def all_expressions(conditions: Iterable[Condition]) -> Any:
    """The expression that all conditions are true; None without conditions."""
    found = None
    for each in conditions:
        found = each.expression if found is None else found & each.expression
    return found


def where(conditions: Iterable[Condition]) -> str:
    """The WHERE clause that all conditions are true; empty without conditions."""
    texts = " AND ".join(f"({each.sql})" for each in conditions)
    return f" WHERE {texts}" if texts else ""
