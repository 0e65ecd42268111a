"""Reads the events of visitors and of time spans, and who is linked with whom."""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import NamedTuple

import narwhals as nw

from lakehouse.settings import Settings
from lakehouse.timestamps import to_micros
from millrace.tables.table_scan import Row, rows_of, scan
from serving.causes.input_events import InputEvent

_EVENTS, _IDENTITIES, _BOTS = "silver.events", "silver.identities", "silver.bots"


class Place(NamedTuple):
    """Coordinates of a record in bronze."""

    topic: str
    partition: int
    offset: int


class TracedEvent(NamedTuple):
    """An event with the coordinates of its record, and the currency of a goal."""

    event: InputEvent
    place: Place
    currency: str | None


_COLUMNS = (*InputEvent._fields, *Place._fields, "currency")


class History:
    """Events by visitor, order or time, and links between visitors, as of the pinned versions.

    Args:
        settings: the settings in force.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def of_visitors(self, visitors: Collection[str], before: datetime | None = None) -> list[TracedEvent]:
        """Events of visitors, all or those before a time."""
        mine = nw.col("visitor_id").is_in(sorted(visitors))
        return self._events(mine if before is None else mine & (nw.col("event_time") < before))

    def between(self, low: datetime, high: datetime) -> list[TracedEvent]:
        """Events from a time (included) to another (excluded)."""
        return self._events((nw.col("event_time") >= low) & (nw.col("event_time") < high))

    def goals_of(self, orders: Collection[str], events: Collection[str] = ()) -> list[TracedEvent]:
        """Goals of orders, and those with some UIDs."""
        wanted = nw.col("order_id").is_in(sorted(orders)) | nw.col("event_id").is_in(sorted(events))
        return self._events(~nw.col("goal").is_null() & wanted)

    def linked(self, visitors: Iterable[str]) -> frozenset[str]:
        """Visitors who share a user with one of these, and these."""
        asked = set(visitors)
        users = {row["user_id"] for row in self._rows(_IDENTITIES, nw.col("visitor_id").is_in(sorted(asked)))}
        persons = asked | users
        others = self._rows(_IDENTITIES, nw.col("user_id").is_in(sorted(persons)))
        return frozenset(persons | {row["visitor_id"] for row in others})

    def with_several_users(self, visitors: Collection[str]) -> frozenset[str]:
        """Those of some visitors who have had several users."""
        mine = nw.col("visitor_id").is_in(sorted(visitors)) & ~nw.col("valid_from").is_null()
        return frozenset(row["visitor_id"] for row in self._rows(_IDENTITIES, mine))

    def bots(self, visitors: Collection[str]) -> frozenset[str]:
        """Those of some visitors who are bots."""
        found = self._rows(_BOTS, nw.col("visitor_id").is_in(sorted(visitors)))
        return frozenset(row["visitor_id"] for row in found)

    def find(self, table: str, condition: nw.Expr) -> list[Row]:
        """Rows of another table."""
        return self._rows(table, condition)

    def _events(self, condition: nw.Expr) -> list[TracedEvent]:
        rows = scan(self._settings, _EVENTS)
        found = [] if rows is None else rows_of(rows.filter(condition).select(_COLUMNS))
        return [_traced(row) for row in found]

    def _rows(self, table: str, condition: nw.Expr) -> list[Row]:
        rows = scan(self._settings, table)
        return [] if rows is None else rows_of(rows.filter(condition))


def _traced(row: Row) -> TracedEvent:
    fields = {name: row[name] for name in InputEvent._fields}
    for name in ("event_time", "ingested_at"):
        fields[name] = to_micros(fields[name]) if fields[name] is not None else 0
    return TracedEvent(InputEvent(**fields), Place(*(row[name] for name in Place._fields)), row["currency"])
