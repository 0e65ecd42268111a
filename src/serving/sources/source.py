"""What can be followed: a table, or a standing query. Positions give rows, two positions give changes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from lakehouse.delta.log_files import latest_version
from lakehouse.delta.table_identity import table_id
from serving.sources.row_changes import ChangeGroup, Position

CHUNK = 200
"""Rows that are Python objects at a time."""


class Source(Protocol):
    """Something that has rows at each position, and changes between two."""

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables."""

    @property
    def key(self) -> tuple[str, ...]:
        """Columns that identify a row; empty if none do."""

    def latest(self, known: Position | None) -> Position | None:
        """The latest position; None while a table is missing. It is behind a known one of another table."""

    def identities(self) -> dict[str, str]:
        """By table, what tells it from another one of the same name."""

    def written_at(self, position: Position) -> tuple[int, ...]:
        """When the commits of a position were written: another time means another table."""

    def commit(self, position: Position) -> Mapping[str, Any]:
        """Fields that all changes of a group share; `change` is that of each."""

    def between(self, after: Position, upto: Position) -> Iterator[ChangeGroup]:
        """Changes after a position, up to another one. The rows of a group can be read once.

        Raises:
            MillraceError: if they can't be read any more.
        """

    def rows(self, position: Position) -> Iterator[Sequence[bytes]]:
        """All rows at a position as JSON, in chunks; the files are read before the first.

        Raises:
            MillraceError: if they can't be read any more.
        """


def folder_of(warehouse: Path, name: str) -> Path:
    """The folder of a table."""
    return warehouse.joinpath(*name.split("."))


def identities_of(warehouse: Path, names: Iterable[str]) -> dict[str, str]:
    """By table, the first eight characters of its id; empty while there is no table."""
    return {name: table_id(folder_of(warehouse, name))[:8] for name in names}


def latest_versions(warehouse: Path, names: Iterable[str], known: Position | None) -> dict[str, int] | None:
    """Latest versions, at which no table was behind another; None while a table is missing."""
    folders = {name: folder_of(warehouse, name) for name in names}

    def found() -> dict[str, int]:
        return {name: latest_version(folder, (known or {}).get(name, -1)) for name, folder in folders.items()}

    versions = found()
    while (again := found()) != versions:
        versions = again
    return None if min(versions.values()) < 0 else versions
