"""Tables in DuckDB as a role sees them: filtered and masked before any query runs.

Decision: docs/decisions/0038.
"""

from typing import Any

from lakehouse.access.table_view import TableView
from lakehouse.delta.sql_views import in_utc
from lakehouse.readers.versioned_tables import TableVersion

_ROWS = "_rows"


def add_role_table(
    connection: Any, table: TableVersion, view: TableView, names: frozenset[str] | None = None
) -> None:
    """Add a table with the rows and columns that a role sees, copied into DuckDB's memory.

    Rows are masked chunk by chunk: DuckDB never has a hidden value.

    Args:
        connection: to DuckDB, not locked yet.
        table: the version of the table that is wanted.
        view: the role's view of it.
        names: columns that are needed, in lower case; None: all.
    """
    name, layer = view.table.name, view.table.layer
    wanted = frozenset(column.name for column in view.columns)
    source = view.source_columns(wanted if names is None else wanted & names)
    shown = [column.name for column in source.columns if column.name in wanted & (names or wanted)]
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {layer}")
    is_made = False
    for chunk in table.chunks(source):
        rows = view.apply(chunk)
        rows = rows.select(shown or rows.column_names[:1])
        connection.register(_ROWS, rows)
        select = f"SELECT {in_utc(rows.schema)} FROM {_ROWS}"
        connection.execute(f"INSERT INTO {name} {select}" if is_made else f"CREATE TABLE {name} AS {select}")
        connection.unregister(_ROWS)
        is_made = True


def lock(connection: Any, folders: list[str] | None = None) -> None:
    """Restrict queries to the existing tables and views: no files, extensions, Python variables or settings.

    Args:
        connection: to DuckDB.
        folders: folders that queries may still read, for views of tables.
    """
    connection.execute("SET python_enable_replacements = false")
    if folders:
        connection.execute(f"SET allowed_directories = {folders}")
    connection.execute("SET enable_external_access = false; SET lock_configuration = true")
