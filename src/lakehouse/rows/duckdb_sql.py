"""Runs the Spark SQL of expectations in DuckDB."""

import re
from typing import Any

_OF_SPARK = (
    "unix_micros(instant) AS epoch_us(instant)",
    "regexp_like(text, pattern) AS regexp_matches(text, pattern)",
)
"""DuckDB macros for the functions of Spark SQL that expectations use."""


_TEXT = r"'(?:[^']|'')*'"
_OF_SPARK_SQL, _OF_STANDARD_SQL = re.compile(f"{_TEXT}|`"), re.compile(f'{_TEXT}|"')


def requoted(sql: str) -> str:
    """Spark SQL as DuckDB's: names in double quotes, and backslashes of texts as they are."""
    return _OF_SPARK_SQL.sub(lambda found: '"' if found[0] == "`" else found[0].replace("\\\\", "\\"), sql)


def spark_sql(sql: str) -> str:
    """DuckDB's SQL as Spark's: names in backticks, and each backslash of a text twice."""
    return _OF_STANDARD_SQL.sub(lambda found: "`" if found[0] == '"' else found[0].replace("\\", "\\\\"), sql)


def text_literal(value: str) -> str:
    """A text in DuckDB's SQL."""
    return "'" + value.replace("'", "''") + "'"


def spark_text_literal(value: str) -> str:
    """A text in Spark's SQL, where a backslash escapes."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def connect(*, has_threads: bool = True) -> Any:
    """An in-memory DuckDB connection with the functions of Spark that expectations use.

    Args:
        has_threads: whether DuckDB may start threads. Without them, a forked process can use the connection.
    """
    import duckdb  # optional: not installed where tables are in a catalog

    alone: dict[str, Any] = {"threads": 1}
    if not duckdb.__version__.startswith("1."):
        alone["async_threads"] = 0
    connection = duckdb.connect(config={} if has_threads else alone)
    for macro in _OF_SPARK:
        connection.execute(f"CREATE MACRO {macro}")
    return connection
