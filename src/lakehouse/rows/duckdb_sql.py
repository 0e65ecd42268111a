"""Runs the Spark SQL of expectations in DuckDB."""

import re
from typing import Any

_OF_SPARK = (
    "unix_micros(instant) AS epoch_us(instant)",
    "regexp_like(text, pattern) AS regexp_matches(text, pattern)",
)
"""Functions of Spark that expectations use, so that their conditions can be asked here."""


_QUOTE = re.compile(r"'(?:[^']|'')*'|`")


def requoted(sql: str) -> str:
    """Spark SQL with identifiers in double quotes, as DuckDB needs, instead of backticks."""
    return _QUOTE.sub(lambda found: '"' if found[0] == "`" else found[0], sql)


def connect() -> Any:
    """An in-memory DuckDB connection with the functions of Spark that expectations use."""
    import duckdb  # where a catalog keeps the tables there need not be one

    connection = duckdb.connect()
    for macro in _OF_SPARK:
        connection.execute(f"CREATE MACRO {macro}")
    return connection
