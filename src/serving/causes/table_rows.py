"""Reads rows of tables as tuples, with times in microseconds."""

from collections.abc import Sequence
from typing import Any

from deltalake.exceptions import DeltaError

from lakehouse.errors import MillraceError
from lakehouse.readers.row_conditions import Condition
from lakehouse.readers.versioned_tables import VersionedTables
from lakehouse.rows.arrow_times import in_micros


class TableRows:
    """Reads columns of tables, in a folder or in a catalog.

    Args:
        tables: the tables.
    """

    def __init__(self, tables: VersionedTables) -> None:
        self.tables = tables

    def find(
        self, name: str, columns: Sequence[str], *conditions: Condition, version: int | None = None
    ) -> list[tuple[Any, ...]]:
        """Rows that satisfy the conditions, as tuples; none if there is no table.

        Args:
            name: the table.
            columns: names of the columns.
            conditions: the conditions.
            version: version of the table; None: the latest.

        Raises:
            MillraceError: if the version can't be read any more.
        """
        try:
            rows = in_micros(self.tables.find(name, columns, conditions, version))
        except LookupError:
            return []
        except DeltaError as error:
            raise MillraceError(
                f"what caused the changes is unknown: version {version} of {name} is gone",
                "Watch without --caused-by, or begin with a snapshot: leave out --from and --resume",
            ) from error
        return list(zip(*(rows[column].to_pylist() for column in columns), strict=True))
