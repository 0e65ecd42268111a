"""The interface of a table backend."""

import json
from contextlib import suppress
from typing import Protocol

import polars as pl

from tables.query import Facts, Query, Version


class ReadError(Exception):
    """A table can't be read at the moment."""


def high_water_mark(user_metadata: str | None) -> int | None:
    """The ingest stamp that a commit's input is done up to, in microseconds; None if it has none.

    Args:
        user_metadata: JSON text of the commit's `userMetadata`.
    """
    with suppress(ValueError):
        metadata = json.loads(user_metadata or "{}")
        mark = metadata.get("upto") if isinstance(metadata, dict) else None
        return mark if isinstance(mark, int) else None
    return None


class Backend(Protocol):
    """Runs queries on a given version of a table."""

    def version(self, table: str, position: int | None = None) -> Version | None:
        """The latest version; None if the table does not exist.

        Args:
            table: the table.
            position: only commits up to this ingest stamp, in microseconds; None for all.

        Raises:
            ReadError: if the version can't be determined.
        """

    def position(self, table: str, version: Version) -> int | None:
        """The ingest stamp, in microseconds, that a version is done up to; None if its commits say none.

        Raises:
            ReadError: if it can't be read.
        """

    def marks(self, table: str, position: int) -> list[tuple[int, int]]:
        """High-water mark and time of writing, in microseconds, of commits done up to a position or later.

        None of them if the table does not exist.

        Raises:
            ReadError: if they can't be read.
        """

    def run(self, query: Query, version: Version) -> pl.DataFrame:
        """Run a query on a version of the table. Returns the columns in query order, then the measures.

        Raises:
            ReadError: if the table can't be read.
        """

    def facts(self, table: str, version: Version) -> Facts:
        """Size and age of a version, from the Delta log.

        Raises:
            ReadError: if it can't be read.
        """
