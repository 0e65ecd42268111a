"""Reads rows of local Delta tables without Spark; times in microseconds."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from lakehouse.errors import MillraceError
from lakehouse.rows.arrow_times import in_micros

Range = tuple[int, int]
"""A range of ingest stamps in microseconds, first excluded, last included."""


class TableRows:
    """Reads columns of the latest versions of tables.

    Args:
        warehouse: folder of the tables.
    """

    def __init__(self, warehouse: Path) -> None:
        self._warehouse = warehouse

    def folder(self, name: str) -> Path:
        """The folder of a table."""
        return self._warehouse.joinpath(*name.split("."))

    def find(
        self,
        name: str,
        columns: Sequence[str],
        condition: Any = None,
        among: tuple[str, Collection[str]] | None = None,
        version: int | None = None,
    ) -> list[tuple[Any, ...]]:
        """Rows that match the conditions, as tuples; none if there is no table.

        Args:
            name: the table.
            columns: names of the columns.
            condition: a `pyarrow.compute` expression; file statistics are used to skip files.
            among: one of the columns, of type string, and its allowed values.
            version: version of the table; None: the latest.

        Raises:
            MillraceError: if the version can't be read any more.
        """
        try:
            table = DeltaTable(self.folder(name), version=version)
        except TableNotFoundError:
            return []
        except DeltaError as error:
            raise MillraceError(
                f"what caused the changes is unknown: version {version} of {name} is gone",
                "Watch without --caused-by, or begin with a snapshot: leave out --from and --resume",
            ) from error
        found: list[tuple[Any, ...]] = []
        values = pa.array(sorted(among[1]), pa.string()) if among else None
        for batch in table.to_pyarrow_dataset().to_batches(list(columns), filter=condition):
            rows = in_micros(pa.Table.from_batches([batch]))
            if among:
                rows = rows.filter(pc.is_in(rows[among[0]].cast(pa.string()), values))
            found += zip(*(rows[column].to_pylist() for column in columns), strict=True)
        return found


def within(column: str, ranges: Sequence[Range]) -> Any:
    """The condition that a timestamp column is in one of the ranges."""
    condition = pc.scalar(False)
    for after, upto in ranges:
        low, high = (_instant(each) for each in (after, upto))
        condition |= (pc.field(column) > low) & (pc.field(column) <= high)
    return condition


def _instant(micros: int) -> Any:
    return pa.scalar(micros, pa.timestamp("us", tz="UTC"))
