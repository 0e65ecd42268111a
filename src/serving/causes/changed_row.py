"""A change of a row, and what in it the watermark and exchange rates decide."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from lakehouse.timestamps import to_micros

_BY_WATERMARK = frozenset({"is_open", "due_at", "is_final", "is_complete", "pane", "revision"})
_BY_RATES = frozenset({"reporting_value", "credited_reporting_value"})
_WITH_MONEY = _BY_RATES | {"over_refunded", "value", "order_values"}


class ChangedRow(NamedTuple):
    """A change of a row; one of both sides may be None."""

    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None

    @property
    def sides(self) -> list[Mapping[str, Any]]:
        """The rows that there are."""
        return [row for row in (self.before, self.after) if row is not None]

    def values(self, column: str) -> list[Any]:
        """Values of a column, without nulls."""
        return [row[column] for row in self.sides if row.get(column) is not None]

    def at(self, column: str) -> int:
        """The latest value of a time, in microseconds."""
        return max(to_micros(value) for value in self.values(column))

    @property
    def differing(self) -> frozenset[str]:
        """Columns that differ; all, if one side is missing."""
        if self.before is None or self.after is None:
            return frozenset(self.sides[0])
        before, after = self.before, self.after
        return frozenset(name for name in before if before[name] != after[name])

    @property
    def due_at(self) -> datetime | None:
        """The watermark that changes the row before next; None if none does."""
        before = self.before or {}
        if "window_end" in before:
            return None if before["is_complete"] else before["window_end"]
        return before.get("due_at")

    def is_by_watermark(self) -> bool:
        """Whether only the watermark can have made the difference."""
        differing = self.differing
        if self.after and self.before and self.before.get("outcome") == "open":
            differing -= {"outcome"} if self.after["outcome"] == "unclicked" else set()
        return differing <= _BY_WATERMARK

    def is_by_rates(self) -> bool:
        """Whether only exchange rates and the watermark can have made the difference."""
        return self.differing <= _BY_RATES | _BY_WATERMARK

    def has_other_money(self) -> bool:
        """Whether money differs that may depend on exchange rates."""
        return len(self.sides) == 2 and bool(self.differing & _WITH_MONEY)
