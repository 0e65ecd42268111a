"""A changed row, and which of its columns depend on the watermark or on exchange rates."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from lakehouse.timestamps import to_micros

_BY_WATERMARK = frozenset({"is_open", "due_at", "is_final", "is_complete", "pane", "revision"})
_BY_RATES = frozenset({"reporting_value", "rate_valid_from", "credited_reporting_value"})
_WITH_MONEY = _BY_RATES | {"over_refunded", "value", "order_values"}


class ChangedRow(NamedTuple):
    """A changed row before and after the commit; one of the two may be None."""

    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None

    @property
    def sides(self) -> list[Mapping[str, Any]]:
        """The row before and the row after, without None."""
        return [row for row in (self.before, self.after) if row is not None]

    def values(self, column: str) -> list[Any]:
        """The values of a column before and after, without nulls."""
        return [row[column] for row in self.sides if row.get(column) is not None]

    def at(self, column: str) -> int:
        """The later value of a timestamp column, in microseconds."""
        return max(to_micros(value) for value in self.values(column))

    @property
    def differing(self) -> frozenset[str]:
        """Columns whose values differ; all columns if one side is missing."""
        if self.before is None or self.after is None:
            return frozenset(self.sides[0])
        before, after = self.before, self.after
        return frozenset(name for name in before if before[name] != after[name])

    @property
    def due_at(self) -> datetime | None:
        """The watermark at which the row before the commit changes next; None if it does not."""
        before = self.before or {}
        if "window_end" in before:
            return None if before["is_complete"] else before["window_end"]
        return before.get("due_at")

    def is_by_watermark(self) -> bool:
        """Whether all differing columns depend on the watermark."""
        differing = self.differing
        if self.after and self.before and self.before.get("outcome") == "open":
            differing -= {"outcome"} if self.after["outcome"] == "unclicked" else set()
        return differing <= _BY_WATERMARK

    def is_by_rates(self) -> bool:
        """Whether all differing columns depend on exchange rates or the watermark."""
        return self.differing <= _BY_RATES | _BY_WATERMARK

    def has_other_money(self) -> bool:
        """Whether a column that may depend on exchange rates differs."""
        return len(self.sides) == 2 and bool(self.differing & _WITH_MONEY)
