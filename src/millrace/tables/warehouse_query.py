"""SQL on the tables of a catalog: in the warehouse, or on copies as a role sees them."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

import polars as pl
import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from lakehouse.access.role import Role
from lakehouse.contracts import TABLES, Table
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.errors import MillraceError
from lakehouse.readers.catalog_tables import CatalogTables
from serving.role_query import answer, tables_for

_FUNCTIONS = {"EPOCH_US": "UNIX_MICROS"}
"""Functions of DuckDB that sqlglot does not know, with those of Spark."""

Versions = Callable[[Collection[str]], Mapping[str, int | None]]
"""The versions of some tables; None for a table that does not exist."""


def run_in_warehouse(
    tables: CatalogTables, catalog: str, sql: str, versions: Versions
) -> tuple[pl.DataFrame, Mapping[str, int]]:
    """The result of a query by a reader who sees everything, and the versions that were read.

    Args:
        tables: the tables.
        catalog: its name.
        sql: a query in DuckDB's SQL, which is translated to the warehouse's.
        versions: gives the versions to read.

    Raises:
        MillraceError: if it is no query, or fails.
    """
    try:
        tree = sqlglot.parse_one(sql, read="duckdb")
    except SqlglotError as error:
        raise MillraceError(
            f"the query can't be parsed: {str(error).splitlines()[0]}", "Write it in DuckDB's SQL"
        ) from error
    if not isinstance(tree, exp.Query):
        raise MillraceError("the query gives no rows", "`millrace sql` is for queries that start with SELECT")
    named = {name: node for node in tree.find_all(exp.Table) if (name := f"{node.db}.{node.name}") in TABLES}
    read = _existing(versions(named.keys()))
    for node in tree.find_all(exp.Table):
        if (name := f"{node.db}.{node.name}") in read:
            node.set("catalog", exp.to_identifier(catalog, quoted=True))
            number = exp.Literal.number(read[name])
            node.set("version", exp.Version(this="VERSION", kind="AS OF", expression=number))
    for function in tree.find_all(exp.Anonymous):
        function.set("this", _FUNCTIONS.get(function.name.upper(), function.this))
    found = pl.DataFrame(pl.from_arrow(tables.sql.query(tree.sql(dialect="databricks"))))
    return found.with_columns(pl.col(pl.Datetime("us", "UTC")).dt.replace_time_zone(None)), read


def run_as_role(
    tables: CatalogTables, sql: str, role: Role, versions: Versions
) -> tuple[pl.DataFrame, Mapping[str, int]]:
    """The result of a query on copies of the tables as a role sees them, and the versions that were read.

    Raises:
        MillraceError: if it is not one SELECT over tables that the role sees, or they are too large to copy.
        duckdb.Error: if it fails.
    """
    read = _existing(versions(tables_for(sql, role)))
    is_description = sql.split(maxsplit=1)[0].upper() == "DESCRIBE"
    opened = {
        name: _ColumnsAlone(version) if is_description else tables.at(name, version)
        for name, version in read.items()
    }
    return pl.DataFrame(answer(sql, role, opened)), read


class _ColumnsAlone(NamedTuple):
    """A version of which no rows are read."""

    number: int

    def version(self) -> int:
        return self.number

    def chunks(self, columns: Table) -> Iterator[pa.Table]:
        yield arrow_schema(columns).empty_table()


def _existing(versions: Mapping[str, int | None]) -> dict[str, int]:
    missing = [name for name, version in versions.items() if version is None]
    if missing:
        raise MillraceError(f"there is no table {missing[0]} yet", "The jobs write it: run them first")
    return {name: version for name, version in versions.items() if version is not None}
