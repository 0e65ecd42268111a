"""Views of tables in DuckDB."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
from deltalake import DeltaTable

from lakehouse.contracts import TABLES
from lakehouse.delta.data_files import has_deletion_vectors, live_files, read_files


def add_view(connection: Any, name: str, table: DeltaTable, condition: str = "TRUE") -> None:
    """Add a view of a table's live files, with the columns of its schema; columns that a file lacks are null.

    Args:
        connection: to DuckDB.
        name: the table, which becomes the view's name.
        table: the table, opened at the version that is wanted.
        condition: SQL condition of the rows that the view has.
    """
    layer, short = name.split(".")
    empty, files = f"_{layer}_{short}", table.file_uris()
    schema = pa.schema(table.schema().to_arrow())
    rows = f"FROM {empty}"
    if files and has_deletion_vectors(table):
        folder = Path(unquote(urlparse(table.table_uri).path))
        found = read_files(folder, TABLES[name], live_files(table), table.version())
        schema = found.schema
        connection.register(empty, found)
    else:
        connection.register(empty, schema.empty_table())
        if files:
            hive = bool(table.metadata().partition_columns)
            rows += (
                " UNION ALL BY NAME FROM"
                f" read_parquet({files}, union_by_name = true, hive_partitioning = {hive})"
            )
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {layer}")
    connection.execute(f"CREATE VIEW {name} AS SELECT {in_utc(schema)} FROM ({rows}) WHERE {condition}")


def in_utc(schema: pa.Schema) -> str:
    """All columns, with instants as plain timestamps in UTC: DuckDB would download its time zones."""
    instants = [column.name for column in schema if pa.types.is_timestamp(column.type)]
    plain = ", ".join(f'make_timestamp(epoch_us("{instant}")) AS "{instant}"' for instant in instants)
    return f"* REPLACE ({plain})" if instants else "*"
