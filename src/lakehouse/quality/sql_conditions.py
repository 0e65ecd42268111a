"""Expectations as conditions on a row, in Spark's SQL; `duckdb_sql.requoted` makes DuckDB's of it."""

from collections.abc import Callable
from typing import Any

from lakehouse.errors import MillraceError
from lakehouse.quality.suites import Expectation

NOT_NULL, NULL = "expect_column_values_to_not_be_null", "expect_column_values_to_be_null"
BETWEEN, REGEX = "expect_column_values_to_be_between", "expect_column_values_to_match_regex"
IN_SET, NOT_IN_SET = "expect_column_values_to_be_in_set", "expect_column_values_to_not_be_in_set"
ROW_COUNT, COLUMN_SET = "expect_table_row_count_to_equal", "expect_table_columns_to_match_set"


def scope_sql(expectation: Expectation) -> str:
    """The rows in scope of an expectation. Null values are in scope only of those on nulls or row counts."""
    scope = [f"({expectation.where})"] if expectation.where else []
    if expectation.kind not in (NOT_NULL, NULL, ROW_COUNT):
        scope.append(f"{_column(expectation)} IS NOT NULL")
    return " AND ".join(scope) or "TRUE"


def violation_sql(expectation: Expectation) -> str:
    """The rows in scope that violate an expectation on column values."""
    return f"NOT ({_CONDITIONS[expectation.kind](_column(expectation), dict(expectation.arguments))})"


def require_decidable(expectation: Expectation) -> Expectation:
    """The expectation, if a micro-batch can evaluate it by counting rows.

    Raises:
        MillraceError: if it cannot.
    """
    if not is_about_values(expectation) and expectation.kind != ROW_COUNT:
        raise MillraceError(
            f"{expectation.id} is {expectation.kind}, which a micro-batch cannot evaluate",
            f"Set only_reported, or use one of {', '.join((*_CONDITIONS, ROW_COUNT, COLUMN_SET))}",
        )
    return expectation


def is_about_values(expectation: Expectation) -> bool:
    """Whether it is about the values of one column, row by row."""
    return expectation.kind in _CONDITIONS


def _between(column: str, arguments: dict[str, Any]) -> str:
    bounds = [("min_value", ">=", ">"), ("max_value", "<=", "<")]
    sides = []
    for name, closed, strict in bounds:
        if arguments.get(name) is not None:
            sign = strict if arguments.get(f"strict_{name[:3]}") else closed
            sides.append(f"{column} {sign} {literal(arguments[name])}")
    return " AND ".join(sides) or "TRUE"


def _is_in(column: str, arguments: dict[str, Any]) -> str:
    return f"{column} IN ({', '.join(map(literal, arguments['value_set']))})"


def literal(value: object) -> str:
    """A number, a truth value or a text in Spark's SQL, in which a backslash is written twice."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, (int, float)):
        return str(value)
    return "'" + str(value).replace("\\", "\\\\").replace("'", "''") + "'"


_CONDITIONS: dict[str, Callable[[str, dict[str, Any]], str]] = {
    NOT_NULL: lambda column, _: f"{column} IS NOT NULL",
    NULL: lambda column, _: f"{column} IS NULL",
    BETWEEN: _between,
    IN_SET: _is_in,
    NOT_IN_SET: lambda column, arguments: f"NOT ({_is_in(column, arguments)})",
    REGEX: lambda column, arguments: f"regexp_like({column}, {literal(arguments['regex'])})",
}


def _column(expectation: Expectation) -> str:
    return f"`{expectation.column}`"
