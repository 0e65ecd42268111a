"""The tables of a Databricks workspace, through a SQL warehouse."""

import os
import threading
from typing import Any

import pyarrow as pa

from tables.sql_backend import SqlTables


def workspace_tables(warehouse_id: str, catalog: str) -> SqlTables:
    """Tables read through a SQL warehouse, with the identity of the app.

    Args:
        warehouse_id: id of the SQL warehouse; the app needs permission to use it.
        catalog: the catalog of the layers.
    """
    return SqlTables(_Connections(warehouse_id), catalog)


class _Connections:
    """One connection per thread, opened at first use: cursors must not be shared between threads."""

    def __init__(self, warehouse_id: str) -> None:
        self._path = f"/sql/1.0/warehouses/{warehouse_id}"
        self._own = threading.local()

    def __call__(self, text: str, values: dict[str, Any]) -> pa.Table:
        with self._connection().cursor() as cursor:
            try:
                cursor.execute(text, values or None)
            except Exception as error:
                if "TABLE_OR_VIEW_NOT_FOUND" in str(error) or "SCHEMA_NOT_FOUND" in str(error):
                    raise LookupError(text) from error
                self._own.connection = None
                raise
            return cursor.fetchall_arrow()

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
