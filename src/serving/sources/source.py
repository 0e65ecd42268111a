"""The interface of tables and standing queries: rows at a position, changes between two positions."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from serving.sources.row_changes import ChangeGroup, Position

CHUNK = 200
"""Maximum number of rows that are Python objects at the same time."""


class Rows(Protocol):
    """Rows that have been read, and are in memory only while they are taken.

    Any thread may take them, any number of times.
    """

    def lines(self) -> Iterator[bytes]:
        """The rows as JSON, one a line, in parts."""


class Source(Protocol):
    """A table or standing query, with rows at each position and changes between two."""

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables."""

    @property
    def key(self) -> tuple[str, ...]:
        """Columns that identify a row; empty if none do."""

    def latest(self, known: Position | None) -> Position | None:
        """The latest position; None while a table is missing. Less than `known` if one was recreated."""

    def first(self) -> Position | None:
        """The position to read first; None while a table is missing."""

    def identities(self) -> dict[str, str]:
        """The first characters of each table's id, by table."""

    def written_at(self, position: Position) -> tuple[int, ...]:
        """Write times of a position's commits: a different time means that a table was recreated."""

    def commit(self, position: Position) -> Mapping[str, Any]:
        """Fields that all changes of a group share; `change` differs between them."""

    def between(self, after: Position, upto: Position) -> Iterator[ChangeGroup]:
        """Groups of changes between two positions. The rows of a group can be read only once.

        Raises:
            MillraceError: if they can't be read any more.
        """

    def rows(self, position: Position, reader: str = "") -> Rows:
        """All rows at a position. All files are read.

        Args:
            position: versions of the tables.
            reader: name of the reader for whom they are kept.

        Raises:
            TryLaterError: if there is no room for them.
            MillraceError: if they can't be read any more.
        """
