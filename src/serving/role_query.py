"""Runs queries of a role on tables that are filtered and masked first."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import duckdb
import pyarrow as pa

from lakehouse.access.role import Role
from lakehouse.access.table_view import TableView
from lakehouse.contracts import TABLES
from lakehouse.delta.role_tables import add_role_table, lock
from lakehouse.errors import MillraceError
from lakehouse.readers.versioned_tables import TableVersion
from serving.query_limits import QueryRunner
from serving.query_tree import Node, names_in, nodes_of, parse_select, tables_of

_EXAMPLE = 'As an example: millrace sql "SELECT …"'


def tables_for(sql: str, role: Role) -> tuple[str, ...]:
    """The tables that a query of a role reads.

    Raises:
        MillraceError: if it is not one SELECT over tables that the role may see.
    """
    return tables_of(list(nodes_of(parse_select(sql, "a query of a role", _EXAMPLE))), role.tables)


def answer(sql: str, role: Role, tables: Mapping[str, TableVersion]) -> pa.Table:
    """The result of a query on the tables as a role sees them, see `answer_in_batches`."""
    return pa.Table.from_batches(answer_in_batches(sql, role, tables, QueryRunner()))


def answer_in_batches(
    sql: str, role: Role, tables: Mapping[str, TableVersion], runner: QueryRunner, threads: int | None = None
) -> Iterator[pa.RecordBatch]:
    """The result of a query on the tables as a role sees them, in batches, at least one.

    DuckDB gets neither files nor hidden values, so not even an error message can contain one.

    Args:
        sql: one SELECT over these tables.
        role: role of the reader.
        tables: tables by name, each opened at the version to read.
        runner: runs it.
        threads: number of DuckDB's threads; None: all cores.

    Raises:
        MillraceError: if it is not one SELECT, or exceeds a limit.
        duckdb.Error: if the query fails.
    """
    nodes = list(nodes_of(parse_select(sql, "a query of a role", _EXAMPLE)))
    names = _columns_of(nodes, tables)

    def run(wanted: frozenset[str] | None) -> Iterator[pa.RecordBatch]:
        with runner.connection() as connection:
            if threads is not None:
                connection.execute(f"SET threads = {threads:d}")
            for name, table in tables.items():
                add_role_table(connection, table, _view(role, name), wanted)
            lock(connection)
            yield from runner.read(connection, sql)

    try:
        yield from run(names)
    except duckdb.BinderException:  # before the first batch
        if names is None:
            raise
        yield from run(None)  # so that the error lists all columns


def _view(role: Role, name: str) -> TableView:
    view = role.view(TABLES[name])
    if view is None:  # a second check, after that of the names
        raise MillraceError(f"{name} is not a table", '`millrace sql "SHOW TABLES"` lists the tables')
    return view


def _columns_of(nodes: Collection[Node], tables: Collection[str]) -> frozenset[str] | None:
    """A superset of the columns that a query needs; None if it may need any column."""
    if any(node.get("class") == "STAR" or _takes_any(node) for node in nodes):
        return None
    known = {column.lower() for name in tables for column in TABLES[name].column_names}
    for node in nodes:
        if node.get("class") == "COLUMN_REF" and not known.intersection(_lower(node["column_names"])):
            return None  # the alias of a table is a whole row
    return names_in(nodes)


def _takes_any(node: Node) -> bool:
    kinds: tuple[Any, ...] = (node.get("ref_type"), node.get("type"))
    return bool({"NATURAL", "POSITIONAL", "SHOW_REF", "PIVOT"}.intersection(map(str, kinds)))


def _lower(names: Collection[str]) -> set[str]:
    return {name.lower() for name in names}
