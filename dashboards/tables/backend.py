"""The contract of a place where tables are."""

from typing import Protocol

import polars as pl

from tables.query import Facts, Query, Version


class ReadError(Exception):
    """A table could not be read just now."""


class Backend(Protocol):
    """Answers questions about tables as of a version."""

    def version(self, table: str) -> Version | None:
        """The latest version; None if there is no such table.

        Raises:
            ReadError: if it is unknown.
        """

    def run(self, query: Query, version: Version) -> pl.DataFrame:
        """The answer as of a version; columns in the order asked for, then the measures.

        Raises:
            ReadError: if the table can't be read.
        """

    def facts(self, table: str, version: Version) -> Facts:
        """What the table's log says.

        Raises:
            ReadError: if it can't be read.
        """
