"""What a subscriber wants of a table's rows: which, and which columns."""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from typing import Any

from lakehouse.contracts import Table
from lakehouse.errors import MillraceError

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}
_FORM = 'Write it as {"column": [values]} or {"column": {"gte": value}}, with not, gt, gte, lt or lte'

Row = Mapping[str, Any]
Test = Callable[[Any], bool]


@dataclass(frozen=True)
class RowFilter:
    """Rows and columns that are wanted.

    Args:
        tests: by column; a row is wanted if all hold.
        columns: those that are shown; None for all.
    """

    tests: Mapping[str, Test]
    columns: tuple[str, ...] | None = None

    def __call__(self, row: Row | None) -> Row | None:
        """The columns of a row that are wanted; None if the row is not."""
        if row is None or not all(test(row[name]) for name, test in self.tests.items()):
            return None
        return row if self.columns is None else {name: row[name] for name in self.columns}


def parse_filter(
    table: Table, columns: Sequence[str], where: Mapping[str, Any], select: Sequence[str]
) -> RowFilter:
    """Check what a subscriber wants.

    Args:
        table: its contract.
        columns: columns that the subscriber may see.
        where: by column, a list of values, or comparisons.
        select: columns to show, beside those of the key; none for all.

    Raises:
        MillraceError: if a column is not there, or a condition can't be read.
    """
    for name in (*where, *select):
        if name not in columns:
            near = get_close_matches(name, columns, 1)
            hint = f"Is {near[0]} meant?" if near else f"{table.name} has {', '.join(columns)}"
            raise MillraceError(f"{table.name} has no column {name}", hint)
    types = {column.name: column.type for column in table.columns}
    tests = {name: _test(name, types[name], condition) for name, condition in where.items()}
    chosen = tuple(name for name in columns if name in {*table.key, *select}) if select else None
    return RowFilter(tests, chosen)


def _test(name: str, kind: str, condition: Any) -> Test:
    if isinstance(condition, list):
        values = [_value(name, kind, each) for each in condition]
        return lambda value: value in values
    if isinstance(condition, dict) and condition and condition.keys() <= {*_COMPARISONS, "not"}:
        parts = [_comparison(name, kind, each, bound) for each, bound in condition.items()]
        return lambda value: all(part(value) for part in parts)
    raise MillraceError(f"the condition on {name} can't be read", _FORM)


def _comparison(name: str, kind: str, comparison: str, bound: Any) -> Test:
    if comparison == "not":
        if not isinstance(bound, list):
            raise MillraceError(f"not of {name} needs a list", _FORM)
        refused = [_value(name, kind, each) for each in bound]
        return lambda value: value not in refused
    limit, compare = _value(name, kind, bound), _COMPARISONS[comparison]
    return lambda value: value is not None and compare(value, limit)


def _value(name: str, kind: str, value: Any) -> Any:
    """A JSON value in the type of a column."""
    try:
        if value is None:
            return None
        if kind == "timestamp":
            found = datetime.fromisoformat(value)
            return found.replace(tzinfo=timezone.utc) if found.tzinfo is None else found
        if kind == "date":
            return date.fromisoformat(value)
        if kind.startswith("decimal"):
            return Decimal(str(value))
        if kind == "boolean" and isinstance(value, bool):
            return value
        if kind in ("int", "bigint", "double") and type(value) in (int, float):
            return value
        if kind == "string" and isinstance(value, str):
            return value
    except (ValueError, TypeError, InvalidOperation):
        pass
    raise MillraceError(f"{value!r} is no value of {name}, which is {kind}", _FORM)
