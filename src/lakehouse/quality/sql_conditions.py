"""Expectations as SQL conditions on a row, which Spark and DuckDB both read."""

from collections.abc import Callable
from typing import Any

from lakehouse.errors import MillraceError
from lakehouse.quality.suites import Expectation

NOT_NULL, NULL = "expect_column_values_to_not_be_null", "expect_column_values_to_be_null"
BETWEEN, REGEX = "expect_column_values_to_be_between", "expect_column_values_to_match_regex"
IN_SET, NOT_IN_SET = "expect_column_values_to_be_in_set", "expect_column_values_to_not_be_in_set"
ROW_COUNT, COLUMN_SET = "expect_table_row_count_to_equal", "expect_table_columns_to_match_set"


def counted(expectation: Expectation) -> str:
    """Which rows an expectation is about; null counts only where null is the question."""
    scope = [f"({expectation.where})"] if expectation.where else []
    if expectation.kind not in (NOT_NULL, NULL, ROW_COUNT):
        scope.append(f"{_column(expectation)} IS NOT NULL")
    return " AND ".join(scope) or "TRUE"


def unexpected(expectation: Expectation) -> str:
    """Which of these rows are not as expected, of an expectation about values."""
    return f"NOT ({_CONDITIONS[expectation.kind](_column(expectation), dict(expectation.arguments))})"


def require_decidable(expectation: Expectation) -> Expectation:
    """The expectation, if a running job can decide on it by counting rows.

    Raises:
        MillraceError: if it can't.
    """
    if not is_about_values(expectation) and expectation.kind != ROW_COUNT:
        raise MillraceError(
            f"{expectation.id} is {expectation.kind}, which no micro-batch can decide",
            f"Let it be only_reported, or one of {', '.join((*_CONDITIONS, ROW_COUNT, COLUMN_SET))}",
        )
    return expectation


def is_about_values(expectation: Expectation) -> bool:
    """Whether it looks at one column, row by row."""
    return expectation.kind in _CONDITIONS


def _between(column: str, told: dict[str, Any]) -> str:
    bounds = [("min_value", ">=", ">"), ("max_value", "<=", "<")]
    sides = []
    for name, closed, strict in bounds:
        if told.get(name) is not None:
            sign = strict if told.get(f"strict_{name[:3]}") else closed
            sides.append(f"{column} {sign} {_literal(told[name])}")
    return " AND ".join(sides) or "TRUE"


def _is_in(column: str, told: dict[str, Any]) -> str:
    return f"{column} IN ({', '.join(map(_literal, told['value_set']))})"


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    return str(value) if isinstance(value, (int, float)) else "'" + str(value).replace("'", "''") + "'"


_CONDITIONS: dict[str, Callable[[str, dict[str, Any]], str]] = {
    NOT_NULL: lambda column, _: f"{column} IS NOT NULL",
    NULL: lambda column, _: f"{column} IS NULL",
    BETWEEN: _between,
    IN_SET: _is_in,
    NOT_IN_SET: lambda column, told: f"NOT ({_is_in(column, told)})",
    REGEX: lambda column, told: f"regexp_like({column}, {_literal(told['regex'])})",
}


def _column(expectation: Expectation) -> str:
    return f"`{expectation.column}`"
