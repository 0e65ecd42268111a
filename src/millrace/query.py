"""SQL over the tables: DuckDB over what Delta's log says is current."""

import duckdb
import polars as pl

from lakehouse.contracts import TABLES
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.reader import open_table


def run_query(settings: Settings, query: str) -> pl.DataFrame:
    """Run one query in DuckDB's SQL; only the columns and files it needs are read.

    Raises:
        MillraceError: if the query is not valid, or names a table that isn't there.
    """
    connection = duckdb.connect(config={"TimeZone": "UTC"})
    for name in TABLES:
        table = open_table(settings, name)
        if table is None:
            continue
        layer, short = name.split(".")
        connection.register(f"_{layer}_{short}", table.to_pyarrow_dataset())
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {layer}")
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM _{layer}_{short}")
    try:
        return connection.execute(query).pl()
    except duckdb.Error as error:
        first = str(error).splitlines()[0]
        raise MillraceError(first, f"Tables: {', '.join(TABLES)}") from error
