"""Locates the events of a collector's receipt: log, Kafka, bronze, silver, conversions."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from bronze.topics.topic_history import PARTITIONS_APART
from intake.log.entries import Delivered
from intake.log.place import log_files
from intake.log.receipts import read_receipt
from lakehouse.errors import MillraceError
from lakehouse.rows.duckdb_sql import text_literal
from lakehouse.settings import Settings
from lakehouse.timestamps import EPOCH
from millrace.tables.duckdb_views import run_query, table_exists

IN_LOG, SHED = "in the collector's log", "shed, until `millrace replay shed`"
IN_KAFKA, IN_BRONZE = "in Kafka", "in bronze, not refined yet"
EVENT, DUPLICATE, REJECTED = "event", "duplicate", "rejected"

_FINAL = (EVENT, DUPLICATE, REJECTED)
_POLL_SECONDS = 0.2
_CLOCK_MICROS = 1_000_000
"""How far a record's time, in milliseconds, may be before that of the log."""

_PLACES = {
    "bronze.kafka_records": ("timestamp", "ingested_at"),
    "silver.events": ("event_id", "role", "event_time"),
    "silver.duplicate_events": ("event_id",),
    "silver.rejected_events": ("reason",),
}


@dataclass(frozen=True)
class EventPlace:
    """The location of one event.

    Args:
        state: one of the constants of this module.
        partition, offset: its partition and offset in Kafka; None while it waits in the log.
        details: values from the tables: times, event_id, role or reason, conversion_id.
    """

    state: str
    partition: int | None = None
    offset: int | None = None
    details: dict[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def follow_receipt(settings: Settings, receipt: str) -> list[EventPlace]:
    """The current location of each event of a receipt.

    Raises:
        MillraceError: if the receipt is unknown in this home, or older than a week.
    """
    found = [read_receipt(file, receipt) for file in log_files(settings.home).values()]
    known = next((each for each in found if each.is_known), None)
    if known is None:
        raise MillraceError(
            f"no events are known by the receipt {receipt}",
            "Receipts are kept for a week in the home of the collector that gave them: check MILLRACE_HOME",
        )
    times = {"logged_at": known.logged_at}
    there = [_follow(settings, each, times) for each in known.delivered]
    waiting = [EventPlace(IN_LOG, details=times)] * known.waiting
    return there + waiting + [EventPlace(SHED, details=times)] * known.shed


def wait_for_receipt(settings: Settings, receipt: str, seconds: float, report: Callable[[str], None]) -> None:
    """Wait until silver and gold have the events of a receipt.

    Args:
        settings: the settings in force.
        receipt: receipt in the collector's response.
        seconds: timeout.
        report: called with the locations of the events whenever they change.

    Raises:
        MillraceError: if the receipt is unknown, its events were shed, or the timeout has passed.
    """
    until, reported = time.monotonic() + seconds, ""
    while True:
        places = follow_receipt(settings, receipt)
        states = ", ".join(sorted({place.state for place in places}))
        if any(place.state == SHED for place in places):
            raise MillraceError(
                "the collector has shed events of this receipt", "`millrace replay shed` sends them on"
            )
        arrived = [(place.details or {}).get("ingested_at") for place in places if place.state in _FINAL]
        if len(arrived) == len(places) and _published(settings) >= max(at for at in arrived if at):
            return
        if states != reported:
            report(states)
            reported = states
        if time.monotonic() > until:
            raise MillraceError(
                f"after {seconds:g} s the events are not in gold: {states}",
                "Do the jobs run? `millrace status`; or wait longer with --timeout",
            )
        time.sleep(_POLL_SECONDS)


def _published(settings: Settings) -> datetime:
    """The ingest stamp that publish has processed through, without a time zone, like query results."""
    none = EPOCH.replace(tzinfo=None)
    if not table_exists(settings, "ops.ledger"):
        return none
    query = "SELECT max(position) AS position FROM ops.ledger WHERE job = 'publish'"
    return run_query(settings, query).item() or none


def _follow(settings: Settings, delivered: Delivered, times: dict[str, Any]) -> EventPlace:
    partition, offset = delivered.partition, delivered.offset
    stored = _stored_partition(settings, delivered)
    rows = {name: None if stored is None else _row(settings, name, stored, offset) for name in _PLACES}
    record = rows["bronze.kafka_records"]
    if record is None:
        return EventPlace(IN_KAFKA, partition, offset, times)
    for state, name in (
        (EVENT, "silver.events"),
        (DUPLICATE, "silver.duplicate_events"),
        (REJECTED, "silver.rejected_events"),
    ):
        if (row := rows[name]) is not None:
            details = {**times, **record, **row, **_conversion(settings, row.get("event_id"))}
            return EventPlace(state, partition, offset, details)
    return EventPlace(IN_BRONZE, partition, offset, {**times, **record})


def _stored_partition(settings: Settings, delivered: Delivered) -> int | None:
    """The partition in bronze of a record that was sent after its event was logged; None if it is not there.

    A topic that was recreated has the same offsets again, under other partition numbers.
    """
    if not table_exists(settings, "bronze.kafka_records"):
        return None
    query = f"""
        SELECT max("partition") AS "partition" FROM bronze.kafka_records
        WHERE topic = {text_literal(settings.events_topic)} AND "offset" = {delivered.offset:d}
            AND "partition" % {PARTITIONS_APART} = {delivered.partition:d}
            AND epoch_us("timestamp") >= {delivered.logged_at - _CLOCK_MICROS:d}
    """
    found: int | None = run_query(settings, query).item()
    return found


def _row(settings: Settings, name: str, partition: int, offset: int) -> dict[str, Any] | None:
    if not table_exists(settings, name):
        return None
    topic = text_literal(settings.events_topic)
    query = f"""
        SELECT {", ".join(_PLACES[name])} FROM {name}
        WHERE topic = {topic} AND "partition" = {partition:d} AND "offset" = {offset:d}
    """
    rows = run_query(settings, query).to_dicts()
    return rows[0] if rows else None


def _conversion(settings: Settings, event_id: str | None) -> dict[str, Any]:
    if event_id is None or not table_exists(settings, "gold.conversions"):
        return {}
    query = f"SELECT conversion_id FROM gold.conversions WHERE event_id = {text_literal(event_id)}"
    rows = run_query(settings, query).to_dicts()
    return rows[0] if rows else {}
