"""The pages' tables through DuckDB instead of polars: over the files that deltalake lists."""

from pathlib import Path

import duckdb
import polars as pl
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from schema import CORRECTIONS
from tables.delta_backend import LocalTables
from tables.delta_log import commit_file
from tables.polars_query import ask_frame, empty
from tables.query import Query, Version
from tables.sql_backend import statement

from lakehouse.rows.duckdb_sql import requoted


class DuckDBTables(LocalTables):
    """Runs each query in DuckDB, which keeps footers and blocks of files that it has read.

    Args:
        root: the folder of the tables.
    """

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._connection = duckdb.connect()
        self._connection.execute("SET parquet_metadata_cache = true")
        self._tables: dict[str, DeltaTable] = {}

    def version(self, table: str, position: int | None = None) -> Version | None:
        """The latest version: commits of the benchmark have no high-water mark."""
        if table == CORRECTIONS:
            return super().version(table, position)
        path = self._path(table)
        with self._lock:
            try:
                opened = self._tables.get(table) or DeltaTable(path)
            except TableNotFoundError:
                return None
            self._tables[table] = opened
            if commit_file(path, opened.version() + 1).exists():
                opened.update_incremental()
            return Version(number := opened.version(), str(commit_file(path, number).stat().st_mtime_ns))

    def run(self, query: Query, version: Version) -> pl.DataFrame:
        """Run a query over the files of the version that the table is open at."""
        if query.table == CORRECTIONS:
            return super().run(query, version)
        with self._lock:
            table = self._tables[query.table]
            files, hive = table.file_uris(), bool(table.metadata().partition_columns)
        source = f"read_parquet({files}, union_by_name = true, hive_partitioning = {hive})"
        text, values = statement(query, source)
        with self._turn, self._connection.cursor() as cursor:
            found = cursor.sql(_in_duckdb(text), params=values)
            rows = pl.DataFrame(found.to_arrow_table())
        return rows.cast(dict(ask_frame(empty(query.table), query).collect_schema()))


def _in_duckdb(text: str) -> str:
    """A statement of Spark SQL, with the quotes, parameters and functions of DuckDB."""
    text = requoted(text).replace(":p", "$p").replace("startswith(", "starts_with(")
    return text.replace("'array<string>'", "'[\"VARCHAR\"]'")
