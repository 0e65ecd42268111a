"""SQL over the tables: DuckDB over what Delta's log says is current."""

from difflib import get_close_matches

import duckdb
import polars as pl

from lakehouse.contracts import TABLES
from lakehouse.delta.sql_views import add_view
from lakehouse.errors import MillraceError
from lakehouse.rows.duckdb_sql import connect
from lakehouse.settings import Settings
from millrace.tables.table_reader import open_table

_LAYERS = {table.layer for table in TABLES.values()}


def run_query(settings: Settings, query: str) -> pl.DataFrame:
    """Run one query in DuckDB's SQL; only the columns and files it needs are read.

    Raises:
        MillraceError: if the query is not valid, or names a table that isn't there.
    """
    if " ".join(query.lower().rstrip("; ").split()) in ("show tables", "show all tables"):
        return _list_tables(settings)
    connection = connect()
    for name in TABLES:
        is_named = name.partition(".")[2] in query.lower()
        table = open_table(settings, name) if is_named else None
        if table is not None:
            add_view(connection, name, table)
    try:
        found = connection.sql(query)
        if found is None:
            raise MillraceError(
                "the query gives no rows", "`millrace sql` is for queries that start with SELECT"
            )
        return pl.DataFrame(found.to_arrow_table())
    except duckdb.Error as error:
        raise MillraceError(str(error).splitlines()[0], _advice(query)) from error


def _list_tables(settings: Settings) -> pl.DataFrame:
    """The declared tables: name, what a row is, and whether the table is there."""
    rows = [(name, table.grain, open_table(settings, name) is not None) for name, table in TABLES.items()]
    return pl.DataFrame(rows, schema=["table", "row", "is_there"], orient="row")


def _advice(query: str) -> str:
    """The table that may be meant, or how to list them."""
    named = [word.strip("\"',;()") for word in query.split() if word.partition(".")[0] in _LAYERS]
    likely = [each for word in named if word not in TABLES for each in get_close_matches(word, TABLES, 1)]
    meant = f"Is {likely[0]} meant? " if likely else ""
    return f'{meant}`millrace sql "SHOW TABLES"` lists the tables, `DESCRIBE layer.table` the columns'
