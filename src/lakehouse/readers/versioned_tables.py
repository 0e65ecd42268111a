"""The interface of readers: versions, rows and changes of tables, in a folder or in a catalog."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

import pyarrow as pa

from lakehouse.contracts.table import Table
from lakehouse.readers.row_conditions import Condition


class TableVersion(Protocol):
    """One version of a table."""

    def version(self) -> int:
        """Its number."""

    def chunks(self, columns: Table) -> Iterator[pa.Table]:
        """The rows, in several tables: first an empty one, which has the types.

        Args:
            columns: the contract, with the columns that are wanted.

        Raises:
            MillraceError: if they can't be read any more.
        """


class VersionedTables(Protocol):
    """The tables of a folder or of a catalog."""

    @property
    def is_local(self) -> bool:
        """Whether DuckDB can read the files itself."""

    @property
    def poll_seconds(self) -> float:
        """Seconds between two polls of the logs of followed tables."""

    def latest_version(self, name: str, known: int = -1) -> int:
        """The latest version of a table; -1 if there is none.

        Args:
            name: the table.
            known: an earlier version, from which later ones are found sooner.
        """

    def written_at(self, name: str, version: int) -> int:
        """When a commit was written, in nanoseconds since 1970; 0 if it is not known any more.

        Another time than before means that the table was recreated.
        """

    def metadata(self, name: str, version: int) -> Mapping[str, Any] | None:
        """Metadata of a commit, as its job and high-water mark; None if the log has no such commit."""

    def created_at(self, name: str) -> datetime:
        """When a table was created."""

    def table_id(self, name: str) -> str:
        """The id that Delta gave a table when it was created; empty if there is no table."""

    def at(self, name: str, version: int) -> TableVersion:
        """A version of a table.

        Raises:
            MillraceError: if it can't be read any more.
        """

    def rows(self, table: Table, version: int) -> Iterator[pa.Table]:
        """All rows of a version, in parts that are small, whatever the table's size: first an empty one.

        Args:
            table: the contract, with the columns that are wanted.
            version: the version.

        Raises:
            MillraceError: if they can't be read any more.
        """

    def find(
        self,
        name: str,
        columns: Sequence[str],
        conditions: Sequence[Condition] = (),
        version: int | None = None,
    ) -> pa.Table:
        """Columns of the rows that satisfy all conditions.

        Args:
            name: the table.
            columns: names of the columns.
            conditions: the conditions.
            version: version of the table; None: the latest.

        Raises:
            LookupError: if there is no table.
        """

    def changes(self, table: Table, version: int) -> pa.Table:
        """What the commit of a version changed, as rows of `row_pairs.change_schema`.

        Raises:
            MillraceError: if it can't be read any more.
        """


def latest_versions(
    tables: VersionedTables, names: Iterable[str], known: Mapping[str, int] | None
) -> dict[str, int] | None:
    """The latest versions of some tables, all at the same moment; None while a table is missing."""
    names = tuple(names)

    def found() -> dict[str, int]:
        return {name: tables.latest_version(name, (known or {}).get(name, -1)) for name in names}

    versions = found()
    while len(names) > 1 and (again := found()) != versions:
        versions = again
    return None if min(versions.values()) < 0 else versions


def identities_of(tables: VersionedTables, names: Iterable[str]) -> dict[str, str]:
    """By table, the first eight characters of its id; empty while there is no table."""
    return {name: tables.table_id(name)[:8] for name in names}
