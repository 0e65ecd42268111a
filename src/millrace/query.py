"""SQL over the tables: DuckDB over what Delta's log says is current."""

import duckdb
import polars as pl

from lakehouse.contracts import TABLES
from lakehouse.duckdb_sql import connect
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.reader import open_table


def run_query(settings: Settings, query: str) -> pl.DataFrame:
    """Run one query in DuckDB's SQL; only the columns and files it needs are read.

    Raises:
        MillraceError: if the query is not valid, or names a table that isn't there.
    """
    connection = connect()
    for name in TABLES:
        table = open_table(settings, name)
        if table is None:
            continue
        layer, short = name.split(".")
        connection.register(f"_{layer}_{short}", table.to_pyarrow_dataset())
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {layer}")
        connection.execute(f"CREATE VIEW {name} AS SELECT {_in_utc(name)} FROM _{layer}_{short}")
    try:
        return pl.DataFrame(connection.sql(query).to_arrow_table())
    except duckdb.Error as error:
        first = str(error).splitlines()[0]
        raise MillraceError(first, f"Tables: {', '.join(TABLES)}") from error


def _in_utc(name: str) -> str:
    """A table's instants as plain timestamps in UTC: DuckDB's time zones come from the network."""
    instants = [column.name for column in TABLES[name].columns if column.type == "timestamp"]
    plain = ", ".join(f'make_timestamp(epoch_us("{instant}")) AS "{instant}"' for instant in instants)
    return f"* REPLACE ({plain})" if instants else "*"
