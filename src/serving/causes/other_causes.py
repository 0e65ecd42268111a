"""Causes other than events: exchange rates, bots, and records that are not events."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from lakehouse.readers.row_conditions import Range, TimeWithin
from lakehouse.timestamps import from_micros
from serving.causes.changed_row import ChangedRow
from serving.causes.commit_input import CommitInput
from serving.causes.linked_visitors import Goal
from serving.causes.table_rows import TableRows

BOTS, RATES = "silver.bots", "silver.exchange_rates"
_PLACE = ("topic", "partition", "offset")
_OF_RECORDS = ("silver.rejected_events", "silver.duplicate_events", RATES)


class _Rate(NamedTuple):
    currency: str
    valid_from: int
    rate: Any


class NewRates:
    """Exchange rates in the input of a commit.

    Args:
        rows: reader of the tables.
        ranges: ranges of ingest stamps.
        version: version of silver.exchange_rates with the rates of the input.
    """

    def __init__(self, rows: TableRows, ranges: Sequence[Range], version: int) -> None:
        new = TimeWithin("ingested_at", ranges)
        found = rows.find(RATES, _Rate._fields, new, version=version)
        self._rates = [_Rate(*row) for row in sorted(found)]

    def of(self, goals: Iterable[Goal]) -> list[dict[str, Any]]:
        """Rates that may apply to goals: of their currency, and valid from their time or earlier."""
        money = {(goal.currency.upper(), goal.event_time) for goal in goals if goal.currency}
        return _named(
            each
            for each in self._rates
            if any(each.currency == currency and each.valid_from <= at for currency, at in money)
        )

    def all(self) -> list[dict[str, Any]]:
        """All new rates."""
        return _named(self._rates)


def _named(rates: Iterable[_Rate]) -> list[dict[str, Any]]:
    return [
        {"currency": each.currency, "valid_from": from_micros(each.valid_from), "rate": each.rate}
        for each in rates
    ]


class NewBots:
    """Visitors whom repair has classified as bots since the last commit.

    Args:
        rows: reader of the tables.
        given: the input.
        version: version of silver.bots with the bots of the input.

    Attributes:
        found: all new bots.
    """

    def __init__(self, rows: TableRows, given: CommitInput, version: int) -> None:
        columns = ("visitor_id", "ingested_at")
        new = TimeWithin("ingested_at", [*given.new, *given.repaired])
        found = rows.find(BOTS, columns, new, version=version)
        self.found = frozenset(visitor for visitor, _ in found)
        self._earlier = {
            visitor for visitor, stamp in found if not any(low < stamp <= high for low, high in given.new)
        }

    def among(self, visitors: Collection[str] | None) -> list[str]:
        """New bots among these visitors (None: all) whose last events came with earlier input."""
        return sorted(self._earlier if visitors is None else self._earlier.intersection(visitors))


class Records:
    """Kafka records behind rows of tables with one row per record.

    Args:
        changes: changes of one commit.
        by_currency: whether a row also depends on changed rows of the same currency.
    """

    def __init__(self, changes: Sequence[ChangedRow], by_currency: bool) -> None:
        self._changes = changes if by_currency else []

    @classmethod
    def of_table(cls, table: str, changes: Sequence[ChangedRow]) -> "Records | None":
        """The records of a table with one row per record; None for other tables."""
        return cls(changes, table == RATES) if table in _OF_RECORDS else None

    def of(self, change: ChangedRow) -> list[dict[str, Any]]:
        """Topic, partition and offset of the records behind a change."""
        currency = change.sides[-1].get("currency")
        same = [each for each in self._changes if each.sides[-1].get("currency") == currency]
        places = {place for each in same or [change] if (place := _new_place(each))}
        return [dict(zip(_PLACE, place, strict=True)) for place in sorted(places)]


def _new_place(change: ChangedRow) -> tuple[Any, ...] | None:
    """Topic, partition and offset of the row's record; None if the commit did not change them."""
    before, after = (
        None if row is None else tuple(row[name] for name in _PLACE) for row in (change.before, change.after)
    )
    return after if after != before else None
