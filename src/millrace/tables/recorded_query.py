"""Runs queries of `millrace sql`, and records a row in ops.reads for each table that they read."""

import polars as pl

from lakehouse.access.policy import ADMIN
from lakehouse.access.read_log import local_user, read_log
from lakehouse.access.role import Role
from lakehouse.settings import Settings
from millrace.tables.duckdb_views import run_query


def run_recorded(
    settings: Settings, query: str, role: Role | None = None, position: int | None = None
) -> pl.DataFrame:
    """Run a query, and record the tables and versions that it has read, if enabled in the settings.

    Args:
        settings: the settings in force.
        query: the query.
        role: role of the reader; see `run_query`.
        position: ingest stamp that tables are read as of; see `run_query`.

    Raises:
        MillraceError: if the query is not valid, or a table in it does not exist.
    """
    reads = read_log(settings)
    if reads is None:
        return run_query(settings, query, role, position=position)
    as_role = ADMIN if role is None else role.name
    answer = run_query(
        settings,
        query,
        role,
        lambda versions, rows: reads.note(local_user(), as_role, "sql", versions, query, rows),
        position,
    )
    reads.close()
    return answer
