"""Differences between old and new rows of a table."""

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any, NamedTuple

from lakehouse.contracts import Table

Row = tuple[Any, ...]


class RowChange(NamedTuple):
    """A row that is inserted, replaced or deleted.

    Args:
        row: the new row; the old row if it is deleted.
        is_deleted: whether the row is deleted.
        old_time: event time of the old row with this key, which may differ; None for an insert.
    """

    row: Row
    is_deleted: bool
    old_time: int | None


class RowDiff:
    """Compares rows of a table, given in column order.

    Args:
        table: the table's contract, with an event time.
    """

    def __init__(self, table: Table) -> None:
        columns = table.column_names
        self._key_of: Callable[[Row], Any] = itemgetter(*(columns.index(name) for name in table.key))
        self._time = columns.index(str(table.event_time))

    def compare(self, before: Iterable[Row], after: Iterable[Row]) -> list[RowChange]:
        """Changes from old to new rows. Equal rows make no change."""
        old = {self._key_of(row): row for row in before}
        found = []
        for row in after:
            was = old.pop(self._key_of(row), None)
            if was != row:
                found.append(RowChange(row, False, None if was is None else was[self._time]))
        return found + [RowChange(row, True, row[self._time]) for row in old.values()]
