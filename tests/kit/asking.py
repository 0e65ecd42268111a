"""Runs SQL on the tables of a test with DuckDB, an engine that the pages do not use."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

Sql = Callable[[str], list[tuple[Any, ...]]]


def sql_over(home: Path) -> Sql:
    """A function that runs SQL on the current tables of a home. Times are UTC without a time zone."""
    connection = duckdb.connect()
    for log in sorted((home / "warehouse").glob("*/*/_delta_log")):
        name = ".".join(log.parent.parts[-2:])
        frame = pl.scan_delta(str(log.parent)).collect()
        plain = frame.with_columns(pl.col(pl.Datetime).dt.replace_time_zone(None))
        view = name.replace(".", "_")
        connection.register(view, plain.to_arrow(compat_level=pl.CompatLevel.oldest()))
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {log.parent.parts[-2]}")
        connection.execute(f"CREATE VIEW {name} AS FROM {view}")
    return lambda query: connection.sql(query).fetchall()
