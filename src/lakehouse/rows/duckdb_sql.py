"""Runs the Spark SQL of expectations in DuckDB."""

import re
from typing import Any

_OF_SPARK = (
    "unix_micros(instant) AS epoch_us(instant)",
    "regexp_like(text, pattern) AS regexp_matches(text, pattern)",
)
"""DuckDB macros for the functions of Spark SQL that expectations use."""


_QUOTE = re.compile(r"'(?:[^']|'')*'|`")


def requoted(sql: str) -> str:
    """Spark SQL with identifiers in double quotes, as DuckDB needs, instead of backticks."""
    return _QUOTE.sub(lambda found: '"' if found[0] == "`" else found[0], sql)


def connect() -> Any:
    """An in-memory DuckDB connection with the functions of Spark that expectations use."""
    import duckdb  # optional: not installed where tables are in a catalog

    connection = duckdb.connect()
    for macro in _OF_SPARK:
        connection.execute(f"CREATE MACRO {macro}")
    return connection
