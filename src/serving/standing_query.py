"""A query that is computed again whenever one of its tables has a new version."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import duckdb
import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lakehouse.access.role import Role
from lakehouse.delta.log_files import latest_version
from lakehouse.delta.role_tables import lock
from lakehouse.delta.sql_views import add_view
from lakehouse.delta.table_identity import table_id
from lakehouse.errors import MillraceError
from lakehouse.rows.duckdb_sql import connect
from serving.admission import StandingText
from serving.json_lines import LineGroup
from serving.result_changes import Row, result_changes
from serving.role_query import answer


def compute(
    warehouse: Path, query: StandingText, versions: Mapping[str, int], role: Role | None = None
) -> pa.Table:
    """The result of a query at versions of its tables: the same at each call.

    DuckDB has no access to files other than the tables', and one thread, so that sums of floats have one
    order.

    Args:
        warehouse: folder of the tables.
        query: the query.
        versions: by table.
        role: who asks; None: who sees everything.

    Raises:
        MillraceError: if the query fails, or a version can't be read any more.
    """
    try:
        tables = {
            name: DeltaTable(_folder(warehouse, name), version=version) for name, version in versions.items()
        }
        if role is None or role.is_unrestricted:
            found = _answer(query.sql, tables, warehouse)
        else:
            found = answer(query.sql, role, tables, threads=1)
        if len(set(found.column_names)) < found.num_columns:
            raise MillraceError("two columns of the query have one name", "Name them, as in `SELECT a AS b`")
    except (DeltaError, FileNotFoundError, duckdb.IOException) as error:
        at = ", ".join(f"{name} {version}" for name, version in versions.items())
        raise MillraceError(
            f"the query can't be computed at versions {at}: {' '.join(str(error).split())[:200]}",
            "If they are gone (`vacuum_retention`), begin with a snapshot: remove the file of --resume",
        ) from error
    except duckdb.Error as error:
        raise MillraceError(
            str(error).splitlines()[0], "`DESCRIBE layer.table` in `millrace sql` shows the columns"
        ) from error
    return found


def _answer(sql: str, tables: Mapping[str, DeltaTable], warehouse: Path) -> pa.Table:
    connection = connect()
    connection.execute("SET threads = 1")
    for name, table in tables.items():
        add_view(connection, name, table)
    lock(connection, [str(_folder(warehouse, name).resolve()) for name in tables])
    return cast(pa.Table, connection.sql(sql).to_arrow_table())


class StandingQuery:
    """Changes of a query's result, one group for each set of versions at which it was computed.

    Args:
        warehouse: folder of the tables.
        query: the query.
        versions: by table, at which the last known result was computed; None: there is none.
        role: who asks; None: who sees everything.
    """

    def __init__(
        self,
        warehouse: Path,
        query: StandingText,
        versions: Mapping[str, int] | None = None,
        role: Role | None = None,
    ) -> None:
        self._role = role
        self._warehouse = warehouse
        self._query = query
        self._versions = dict(versions or {})
        self.result: pa.Table | None = None
        self._rows: list[Row] = []
        self._ids: dict[str, str] = {}
        if versions:
            self._compute()

    @property
    def position(self) -> dict[str, int]:
        """Versions of the tables at the last result; empty before the first."""
        return dict(self._versions)

    @property
    def table_ids(self) -> dict[str, str]:
        """Ids of the tables of the last result."""
        return dict(self._ids)

    def poll(self) -> Iterator[LineGroup]:
        """The changes since the last poll; none if no table has a new version: only logs are read."""
        versions = self._latest()
        if versions is None or versions == self._versions:
            return
        before, self._versions = self._rows, versions
        self._compute()
        changes = result_changes(before, self._rows, self._query.key)
        yield LineGroup((change._asdict() for change in changes), versions, self.table_ids)

    def skip(self) -> None:
        """Leave out what is there."""
        for _ in self.poll():
            pass

    def _latest(self) -> dict[str, int] | None:
        """Latest versions, at which no table was behind another; None while a table is missing."""
        versions = self._list()
        while (again := self._list()) != versions:
            versions = again
        return None if min(versions.values()) < 0 else versions

    def _list(self) -> dict[str, int]:
        return {
            name: latest_version(_folder(self._warehouse, name), self._versions.get(name, -1))
            for name in self._query.tables
        }

    def _compute(self) -> None:
        self._ids = {name: table_id(_folder(self._warehouse, name)) for name in self._versions}
        self.result = compute(self._warehouse, self._query, self._versions, self._role)
        self._rows = self.result.to_pylist()


def _folder(warehouse: Path, name: str) -> Path:
    layer, short = name.split(".")
    return warehouse / layer / short
