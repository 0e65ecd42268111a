"""Tables in a catalog, read through a SQL warehouse: their changes are those of Delta's change data feed."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.table import Table
from lakehouse.delta.log_files import parse_metadata
from lakehouse.delta.row_pairs import changes_between, commit_columns
from lakehouse.errors import MillraceError
from lakehouse.readers.catalog_sql import CatalogSql, Warehouse
from lakehouse.readers.row_conditions import Condition, where
from lakehouse.readers.stored_changes import StoredChanges
from lakehouse.readers.table_history import TableHistory

MOST_ROWS = 1_000_000
"""Rows that a query may read of a table: they are copied."""
_NONE_LATER = "CDC_START_VERSION_AFTER_LATEST"
_BEFORE, _AFTER = ["delete", "update_preimage"], ["insert", "update_postimage"]


@dataclass(frozen=True)
class CatalogVersion:
    """A version of a table in a catalog.

    Args:
        tables: the tables of the catalog.
        name: of the table.
        number: of the version.
    """

    tables: "CatalogTables"
    name: str
    number: int

    def version(self) -> int:
        """Its number."""
        return self.number

    def chunks(self, columns: Table) -> Iterator[pa.Table]:
        """The rows. Tables of more than `MOST_ROWS` rows are refused."""
        yield arrow_schema(columns).empty_table()
        count = 0
        for part in self.tables.select(columns, self.number, MOST_ROWS + 1):
            count += part.num_rows
            if count > MOST_ROWS:
                raise MillraceError(
                    f"{self.name} has more than {MOST_ROWS:,} rows, too many to copy for a query",
                    "Follow the table with conditions instead, or query a smaller table",
                )
            yield part


class CatalogTables:
    """The tables of a catalog, see `VersionedTables`.

    Args:
        warehouse: the SQL warehouse that reads them.
        catalog: the catalog.
    """

    is_local = False
    poll_seconds = 0.1

    def __init__(self, warehouse: Warehouse, catalog: str) -> None:
        self.sql = CatalogSql(warehouse, catalog)
        """Statements on the tables."""
        self._histories: dict[str, TableHistory] = {}
        self._feeds: dict[str, StoredChanges] = {}
        self._lock = threading.Lock()

    def latest_version(self, name: str, known: int = -1) -> int:
        """The latest version, from the table's history."""
        del known
        return self._history(name).latest()

    def written_at(self, name: str, version: int) -> int:
        """The commit's time in the history."""
        entry = self._history(name).find(version)
        return 0 if entry is None else entry.written_at

    def metadata(self, name: str, version: int) -> Mapping[str, Any] | None:
        """Metadata of a commit, from the history."""
        entry = self._history(name).find(version)
        return None if entry is None else parse_metadata(entry.user_metadata)

    def created_at(self, name: str) -> datetime:
        """When the table was created, from `DESCRIBE DETAIL`."""
        found: datetime = self.sql.run(f"DESCRIBE DETAIL {self.sql.quoted(name)}", name)["createdAt"][
            0
        ].as_py()
        return found if found.tzinfo else found.replace(tzinfo=timezone.utc)

    def table_id(self, name: str) -> str:
        """The id in `DESCRIBE DETAIL`, read again if the history is that of another table."""
        history = self._history(name)
        if not history.table_id:
            try:
                found = self.sql.run(f"DESCRIBE DETAIL {self.sql.quoted(name)}", name)
            except LookupError:
                return ""
            history.table_id = str(found["id"][0].as_py())
        return history.table_id

    def at(self, name: str, version: int) -> CatalogVersion:
        """A version of a table."""
        return CatalogVersion(self, name, version)

    def rows(self, table: Table, version: int) -> Iterator[pa.Table]:
        """The rows of a version, in parts as the warehouse returns them."""
        yield arrow_schema(table).empty_table()
        yield from self.select(table, version)

    def find(
        self,
        name: str,
        columns: Sequence[str],
        conditions: Sequence[Condition] = (),
        version: int | None = None,
    ) -> pa.Table:
        """Rows that satisfy conditions, which the warehouse applies."""
        names = ", ".join(f"`{each}`" for each in columns)
        source = self.sql.quoted(name) + ("" if version is None else f" VERSION AS OF {version:d}")
        return self.sql.run(f"SELECT {names} FROM {source}{where(conditions)}", name)

    def changes(self, table: Table, version: int) -> pa.Table:
        """The changes of a commit, from Delta's change data feed."""
        try:
            found = self._feed(table.name).of(version)
        except LookupError as error:
            raise _missing(table.name) from error
        kinds, entry = found["_change_type"], self._history(table.name).find(version)
        times = pc.unique(found["_commit_timestamp"].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()))
        if entry is None or any(1_000 * time.as_py() != entry.written_at for time in times):
            raise MillraceError(f"{table.name} was made again", "Begin with a snapshot")
        before, after = (
            _typed(table, found.filter(pc.is_in(kinds, pa.array(wanted)))) for wanted in (_BEFORE, _AFTER)
        )
        commit = commit_columns(version, entry.written_at // 1_000, entry.user_metadata)
        return changes_between(table, before, after, commit)

    def select(self, table: Table, version: int, limit: int | None = None) -> Iterator[pa.Table]:
        """The rows of a version in parts, in the columns of a contract.

        Args:
            table: the contract.
            version: the version.
            limit: number of rows after which reading ends; None: all.

        Raises:
            MillraceError: if they can't be read any more.
        """
        source = f"{self.sql.quoted(table.name)} VERSION AS OF {version:d}"
        most = "" if limit is None else f" LIMIT {limit:d}"
        what = f"version {version} of {table.name}"
        try:
            there = set(self.sql.run(f"SELECT * FROM {source} LIMIT 0", what).column_names)
            names = ", ".join(f"`{name}`" for name in table.column_names if name in there) or "1"
            for part in self.sql.parts(f"SELECT {names} FROM {source}{most}", what):
                yield _typed(table, part)
        except LookupError as error:
            raise _missing(table.name) from error

    def _history(self, name: str) -> TableHistory:
        with self._lock:
            if name not in self._histories:
                text = f"DESCRIBE HISTORY {self.sql.quoted(name)} LIMIT "
                self._histories[name] = TableHistory(
                    lambda count: self.sql.run(f"{text}{count:d}", name), partial(self._has_later, name)
                )
            return self._histories[name]

    def _feed(self, name: str) -> StoredChanges:
        with self._lock:
            if name not in self._feeds:
                self._feeds[name] = StoredChanges(partial(self._changed_rows, name))
            return self._feeds[name]

    def _has_later(self, name: str, version: int) -> bool:
        """Whether a table may have a commit after a version: the feed of later ones can be planned."""
        try:
            self.sql.run(f"SELECT * FROM {self._changes_from(name, version + 1)} LIMIT 0", name)
        except (LookupError, MillraceError) as error:  # the history tells others apart
            return _NONE_LATER not in str(error)
        self._feed(name).expect(version + 1)
        return True

    def _changed_rows(self, name: str, first: int, last: int | None) -> pa.Table:
        what = f"the changes of version {first} of {name}"
        return self.sql.run(f"SELECT * FROM {self._changes_from(name, first, last)}", what)

    def _changes_from(self, name: str, first: int, last: int | None = None) -> str:
        upto = "" if last is None else f", {last:d}"
        return f"table_changes('{self.sql.quoted(name)}', {first:d}{upto})"


def _typed(table: Table, rows: pa.Table) -> pa.Table:
    """The columns of a contract; null where the rows have no such column."""
    columns = {
        field.name: rows[field.name].cast(field.type)
        if field.name in rows.column_names
        else pa.nulls(rows.num_rows, field.type)
        for field in arrow_schema(table)
    }
    return pa.table(columns, schema=arrow_schema(table))


def _missing(name: str) -> MillraceError:
    return MillraceError(f"there is no table {name} yet", "The jobs write it: run them first")
