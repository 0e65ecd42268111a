"""The SQL warehouse of a catalog: one of a Databricks workspace, or a server of Spark Connect."""

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pyarrow as pa

from lakehouse.errors import MillraceError
from lakehouse.readers.catalog_sql import Warehouse
from lakehouse.readers.catalog_tables import CatalogTables

_MISSING = (
    "TABLE_OR_VIEW_NOT_FOUND",
    "SCHEMA_NOT_FOUND",
    "DELTA_TABLE_NOT_FOUND",
    "DELTA_MISSING_DELTA_TABLE",
)

_ROWS = 10_000
"""Rows of a part of a result."""
WAREHOUSE_VARIABLES = "DATABRICKS_WAREHOUSE_ID or SPARK_REMOTE"


def catalog_tables(catalog: str) -> CatalogTables:
    """The tables of a catalog, through the SQL warehouse that the environment names.

    Raises:
        MillraceError: if it names none.
    """
    named = (os.environ.get(name) for name in ("DATABRICKS_WAREHOUSE_ID", "SPARK_REMOTE"))
    return _connected(catalog, *named)


@cache
def _connected(catalog: str, *_: str | None) -> CatalogTables:
    """One connection for all readers of the process."""
    return CatalogTables(sql_warehouse(), catalog)


def has_warehouse() -> bool:
    """Whether the environment names a SQL warehouse."""
    return bool(os.environ.get("DATABRICKS_WAREHOUSE_ID") or os.environ.get("SPARK_REMOTE"))


def sql_warehouse() -> Warehouse:
    """The SQL warehouse that the environment names.

    Raises:
        MillraceError: if it names none.
    """
    if warehouse := os.environ.get("DATABRICKS_WAREHOUSE_ID"):
        return DatabricksWarehouse(warehouse)
    if address := os.environ.get("SPARK_REMOTE"):
        return SparkConnect(address)
    raise MillraceError(
        "the tables are in a catalog, and no SQL warehouse is named to read them",
        f"Set {WAREHOUSE_VARIABLES}: the id of a warehouse, or the address of a server of Spark Connect",
    )


class DatabricksWarehouse:
    """A SQL warehouse of a workspace, with the identity of the process.

    One connection for each thread, opened at first use: cursors must not be shared between threads.

    Args:
        warehouse_id: id of the warehouse, which the identity may use.
    """

    def __init__(self, warehouse_id: str) -> None:
        self._path = f"/sql/1.0/warehouses/{warehouse_id}"
        self._own = threading.local()

    def __call__(self, text: str, values: dict[str, Any]) -> pa.Table:
        """The result of a statement."""
        with self._executed(text, values) as cursor:
            return cursor.fetchall_arrow()

    def parts(self, text: str, values: dict[str, Any]) -> Iterator[pa.Table]:
        """The result in parts of at most 10,000 rows."""
        with self._executed(text, values) as cursor:
            while (part := cursor.fetchmany_arrow(_ROWS)).num_rows:
                yield part

    @contextmanager
    def _executed(self, text: str, values: dict[str, Any]) -> Iterator[Any]:
        with self._connection().cursor() as cursor:
            try:
                cursor.execute(text, values or None)
            except Exception as error:
                if is_missing(error):
                    raise LookupError(text) from error
                self._own.connection = None
                raise
            yield cursor

    def _connection(self) -> Any:
        if getattr(self._own, "connection", None) is None:
            from databricks import sql
            from databricks.sdk.core import Config

            config = Config()
            host = os.environ.get("DATABRICKS_HOST", config.host or "").removeprefix("https://")
            self._own.connection = sql.connect(
                server_hostname=host, http_path=self._path, credentials_provider=lambda: config.authenticate
            )
        return self._own.connection


class SparkConnect:
    """A server of Spark Connect. Threads share a session, which is opened at first use.

    Args:
        address: as in `SPARK_REMOTE`: `sc://host:port`, with further options as Spark has them.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._session: Any = None

    def __call__(self, text: str, values: dict[str, Any]) -> pa.Table:
        """The result of a statement."""
        session = self.session()
        with self._closed_if_lost(text):
            return _result(session, text, values)

    def parts(self, text: str, values: dict[str, Any]) -> Iterator[pa.Table]:
        """The result in parts, as the server sends them."""
        session = self.session()
        with self._closed_if_lost(text):
            found = session.client.to_table_as_iterator(_plan(session, text, values), {})
            yield from (each for each in found if isinstance(each, pa.Table))  # the others are its schema

    @contextmanager
    def _closed_if_lost(self, text: str) -> Iterator[None]:
        """Open another session next time if this one was lost during a statement."""
        try:
            yield
        except Exception as error:
            if is_missing(error):
                raise LookupError(text) from error
            if "SESSION" in str(error) or "UNAVAILABLE" in str(error):
                # Errors are raised, and logged with pages of stack traces.
                logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
                self._session = None
            raise

    def session(self) -> Any:
        """The session, opened if there is none."""
        with self._lock:
            if self._session is None:
                from pyspark.sql.connect.session import SparkSession

                self._session = SparkSession.builder.remote(self._address).create()
            return self._session


def _result(session: Any, text: str, values: dict[str, Any]) -> pa.Table:
    """The result of a statement, by one request.

    `session.sql(text).toArrow()` makes three, for each of which the server analyses the statement.
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    rows, schema, _ = session.client.to_table(_plan(session, text, values), {})
    return rows.cast(to_arrow_schema(schema, timezone="UTC"))


def _plan(session: Any, text: str, values: dict[str, Any]) -> Any:
    """The request of a statement."""
    from pyspark.sql.connect.functions import builtin
    from pyspark.sql.connect.plan import SQL

    plan = SQL(text, named_args={name: builtin.lit(value) for name, value in values.items()})
    return plan.to_proto(session.client)


def is_missing(error: Exception) -> bool:
    """Whether a warehouse reports that there is no such table or schema."""
    return any(word in str(error) for word in _MISSING)
