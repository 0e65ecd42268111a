"""SQL on the tables: DuckDB views of the files that Delta's log lists."""

from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches

import duckdb
import polars as pl
from deltalake import DeltaTable

from lakehouse.access.role import Role, everything
from lakehouse.contracts import TABLES
from lakehouse.delta.sql_views import add_view
from lakehouse.errors import MillraceError
from lakehouse.readers.folder_tables import FolderVersion
from lakehouse.readers.open_tables import open_tables
from lakehouse.readers.positions import STAMPS, versions_as_of
from lakehouse.rows.duckdb_sql import connect
from lakehouse.settings import Settings
from millrace.tables.pins import Versions, pinned
from millrace.tables.table_reader import open_table
from serving.role_query import answer, tables_for

_LAYERS = {table.layer for table in TABLES.values()}

OnRead = Callable[[Mapping[str, int], int], None]
"""Called with the version of each table that a query has read, and the number of rows of its result."""


def run_query(
    settings: Settings,
    query: str,
    role: Role | None = None,
    on_read: OnRead | None = None,
    position: int | None = None,
) -> pl.DataFrame:
    """Run one query in DuckDB's SQL. Only the needed columns and files are read.

    Args:
        settings: the settings in force.
        query: the query.
        role: role of the reader, which filters and masks tables. None: a reader who sees everything.
        on_read: called once the result is known.
        position: ingest stamp in microseconds that tables are read as of; None: the latest rows.

    Raises:
        MillraceError: if the query is not valid, or a table in it does not exist.
    """
    if settings.catalog:
        return _run_on_catalog(settings, query, role, on_read, position)
    if position is not None:
        with pinned(versions_as_of(open_tables(settings), position)):
            return _run(settings, query, role, on_read, position)
    return _run(settings, query, role, on_read, None)


def _run(
    settings: Settings, query: str, role: Role | None, on_read: OnRead | None, position: int | None
) -> pl.DataFrame:
    if _lists_tables(query):
        names = TABLES if role is None else role.tables
        return _table_list({name: open_table(settings, name) is not None for name in names})
    if role is not None and not role.is_unrestricted:
        return _run_as(settings, query, role, on_read, position)
    connection, opened = connect(), _opened(settings, [name for name in TABLES if _is_named(name, query)])
    for name, table in opened.items():
        add_view(connection, name, table, _condition(name, position))
    try:
        found = connection.sql(query)
        if found is None:
            raise MillraceError(
                "the query gives no rows", "`millrace sql` is for queries that start with SELECT"
            )
        rows = pl.DataFrame(found.to_arrow_table())
    except duckdb.Error as error:
        raise MillraceError(str(error).splitlines()[0], _advice(query, TABLES)) from error
    if on_read is not None:
        on_read(_versions(opened, _tables_in(query)), len(rows))
    return rows


def _run_on_catalog(
    settings: Settings, query: str, role: Role | None, on_read: OnRead | None, position: int | None
) -> pl.DataFrame:
    from lakehouse.readers.sql_warehouse import catalog_tables
    from millrace.tables.warehouse_query import run_as_role, run_in_warehouse

    catalog = str(settings.catalog)
    tables = catalog_tables(catalog)
    if _lists_tables(query):
        names = TABLES if role is None else role.tables
        there = tables.sql.existing(_LAYERS)
        return _table_list({name: name in there for name in names})

    def versions(names: Collection[str]) -> Versions:
        if position is not None:
            if STAMPS.keys() & set(names):
                raise MillraceError(
                    "on a catalog, silver and gold are read as of a position, and no other table",
                    "Leave out --as-of",
                )
            return versions_as_of(tables, position, names)
        found = {name: tables.latest_version(name) for name in names}
        return {name: None if version < 0 else version for name, version in found.items()}

    try:
        sees_all = role is None or role.is_unrestricted
        if sees_all and query.split(maxsplit=1)[0].upper() not in ("DESCRIBE", "SUMMARIZE"):
            found, read = run_in_warehouse(tables, catalog, query, versions)
        else:
            found, read = run_as_role(tables, query, role or everything(), versions)
    except duckdb.Error as error:
        raise MillraceError(str(error).splitlines()[0], _advice(query, TABLES)) from error
    if on_read is not None:
        on_read(read, len(found))
    return found


def table_exists(settings: Settings, name: str) -> bool:
    """Whether a table exists, in the home or in the catalog."""
    return open_tables(settings).latest_version(name) >= 0


def _condition(name: str, position: int | None) -> str:
    """The rows of a table up to a position, if the table's version does not give them."""
    stamp = STAMPS.get(name)
    return "TRUE" if stamp is None or position is None else f'epoch_us("{stamp}") <= {position:d}'


def _run_as(
    settings: Settings, query: str, role: Role, on_read: OnRead | None, position: int | None
) -> pl.DataFrame:
    """Run a query on the tables as a role sees them."""
    tables = _opened(settings, tables_for(query, role))
    if position is not None and STAMPS.keys() & tables:
        raise MillraceError(
            "a role reads silver and gold as of a position, and no other table", "Leave out --as-of or --role"
        )
    try:
        found = pl.DataFrame(
            answer(query, role, {name: FolderVersion(table) for name, table in tables.items()})
        )
    except duckdb.Error as error:
        raise MillraceError(str(error).splitlines()[0], _advice(query, role.tables)) from error
    if on_read is not None:
        on_read(_versions(tables, tables), len(found))
    return found


def _opened(settings: Settings, names: Collection[str]) -> dict[str, DeltaTable]:
    """The existing ones of these tables, opened."""
    opened = {name: open_table(settings, name) for name in names}
    return {name: table for name, table in opened.items() if table is not None}


def _is_named(name: str, query: str) -> bool:
    return name.partition(".")[2] in query.lower()


def _tables_in(query: str) -> Collection[str]:
    """The tables that a query reads; all tables if DuckDB can't determine them."""
    try:
        found = connect().get_table_names(query, qualified=True)
    except duckdb.Error:
        return TABLES
    return {name.partition(" AS ")[0].lower().removeprefix("memory.") for name in found}


def _versions(opened: Mapping[str, DeltaTable], names: Collection[str]) -> dict[str, int]:
    return {name: int(table.version()) for name, table in opened.items() if name in names}


def _lists_tables(query: str) -> bool:
    return " ".join(query.lower().rstrip("; ").split()) in ("show tables", "show all tables")


def _table_list(names: Mapping[str, bool]) -> pl.DataFrame:
    """A table with name, meaning of a row, and existence of each of these tables."""
    rows = [(name, TABLES[name].grain, is_there) for name, is_there in names.items()]
    return pl.DataFrame(rows, schema=["table", "row", "is_there"], orient="row")


def _advice(query: str, known: Collection[str]) -> str:
    """Advice for an unknown table: a similar name, or how to list tables."""
    named = [word.strip("\"',;()") for word in query.split() if word.partition(".")[0] in _LAYERS]
    likely = [each for word in named if word not in known for each in get_close_matches(word, known, 1)]
    meant = f"Is {likely[0]} meant? " if likely else ""
    return f'{meant}`millrace sql "SHOW TABLES"` lists the tables, `DESCRIBE layer.table` the columns'
