"""Causes other than events: exchange rates, bots, and records that are no events."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from lakehouse.timestamps import from_micros
from serving.causes.changed_row import ChangedRow
from serving.causes.commit_input import CommitInput
from serving.causes.linked_visitors import Goal
from serving.causes.table_rows import Range, TableRows, within

BOTS, RATES = "silver.bots", "silver.exchange_rates"
_PLACE = ("topic", "partition", "offset")
_OF_RECORDS = ("silver.rejected_events", "silver.duplicate_events", RATES)


class _Rate(NamedTuple):
    currency: str
    valid_from: int
    rate: Any


class NewRates:
    """Exchange rates that came with the input of a commit.

    Args:
        rows: of the tables.
        ranges: of ingest stamps.
        version: of silver.exchange_rates, with the rates up to then.
    """

    def __init__(self, rows: TableRows, ranges: Sequence[Range], version: int) -> None:
        new = within("ingested_at", ranges)
        found = rows.find(RATES, _Rate._fields, new, version=version)
        self._rates = [_Rate(*row) for row in sorted(found)]

    def of(self, goals: Iterable[Goal]) -> list[dict[str, Any]]:
        """Rates that may apply to the money of some goals: of their currency, and valid from before."""
        money = {(goal.currency.upper(), goal.event_time) for goal in goals if goal.currency}
        return _named(
            each
            for each in self._rates
            if any(each.currency == currency and each.valid_from <= at for currency, at in money)
        )

    def all(self) -> list[dict[str, Any]]:
        """All of them."""
        return _named(self._rates)


def _named(rates: Iterable[_Rate]) -> list[dict[str, Any]]:
    return [
        {"currency": each.currency, "valid_from": from_micros(each.valid_from), "rate": each.rate}
        for each in rates
    ]


class NewBots:
    """Visitors of whom repair found out, since the last commit, that they are bots.

    Args:
        rows: of the tables.
        given: the input.
        version: of silver.bots, with the bots up to then.

    Attributes:
        found: all of them.
    """

    def __init__(self, rows: TableRows, given: CommitInput, version: int) -> None:
        columns = ("visitor_id", "ingested_at")
        new = within("ingested_at", [*given.new, *given.repaired])
        found = rows.find(BOTS, columns, new, version=version)
        self.found = frozenset(visitor for visitor, _ in found)
        self._earlier = {
            visitor for visitor, stamp in found if not any(low < stamp <= high for low, high in given.new)
        }

    def among(self, visitors: Collection[str] | None) -> list[str]:
        """New bots among some visitors, all if None, whose last events came with earlier input."""
        return sorted(self._earlier if visitors is None else self._earlier.intersection(visitors))


class Records:
    """Records behind rows that are made of records one by one.

    Args:
        changes: of one commit.
        by_currency: whether a row also follows from changed ones of the same currency.
    """

    def __init__(self, changes: Sequence[ChangedRow], by_currency: bool) -> None:
        self._changes = changes if by_currency else []

    @classmethod
    def of_table(cls, table: str, changes: Sequence[ChangedRow]) -> "Records | None":
        """For a table that has such rows; None for others."""
        return cls(changes, table == RATES) if table in _OF_RECORDS else None

    def of(self, change: ChangedRow) -> list[dict[str, Any]]:
        """Topic, partition and offset of the records behind a change."""
        currency = change.sides[-1].get("currency")
        same = [each for each in self._changes if each.sides[-1].get("currency") == currency]
        places = {place for each in same or [change] if (place := _new_place(each))}
        return [dict(zip(_PLACE, place, strict=True)) for place in sorted(places)]


def _new_place(change: ChangedRow) -> tuple[Any, ...] | None:
    """Where the record is that made the row; None if it is the one that made the row before."""
    before, after = (
        None if row is None else tuple(row[name] for name in _PLACE) for row in (change.before, change.after)
    )
    return after if after != before else None
