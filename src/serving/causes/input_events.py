"""Reads the events in the input of a commit."""

from collections.abc import Collection
from typing import NamedTuple

from lakehouse.readers.row_conditions import Range, TimeWithin
from serving.causes.commit_input import CommitInput
from serving.causes.linked_visitors import shared_visitors
from serving.causes.table_rows import TableRows

_EVENTS = "silver.events"
_OF_ALL_EVENTS = ("silver.events", "silver.identities", "silver.bots", "silver.consents")


class InputEvent(NamedTuple):
    """Columns of silver.events that decide which rows an event may change; times in microseconds."""

    event_id: str
    visitor_id: str
    user_id: str | None
    type: str
    role: str | None
    event_time: int
    is_late: bool
    promotion_id: str | None
    goal: str | None
    order_id: str | None
    ingested_at: int


def events_within(rows: TableRows, ranges: Collection[Range]) -> list[InputEvent]:
    """Events with an ingest stamp in one of the ranges."""
    if not ranges:
        return []
    return [
        InputEvent(*row) for row in rows.find(_EVENTS, InputEvent._fields, TimeWithin("ingested_at", ranges))
    ]


def events_of(rows: TableRows, table: str, given: CommitInput) -> list[InputEvent]:
    """The events that a commit's job has read for a table.

    Refine reads events on time, and repair late ones; for events, identities, bots and consents they read
    all. Publish reads all, and again those that repair has processed since, if they are late or may change
    whose events are whose or what they may be used for: with a user id, or of one of `shared_visitors`.
    """
    new = events_within(rows, given.new)
    if given.job in ("refine", "repair") and table not in _OF_ALL_EVENTS:
        return [event for event in new if event.is_late == (given.job == "repair")]
    repaired = events_within(rows, given.repaired)
    shared = shared_visitors(rows, {event.visitor_id for event in repaired})
    again = [each for each in repaired if each.is_late or each.user_id or each.visitor_id in shared]
    return list({event.event_id: event for event in (*new, *again)}.values())
