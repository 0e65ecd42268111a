"""Records of bronze behind rows of silver and gold."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import narwhals as nw

from lakehouse.contracts import Table
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.shop import DIMENSIONS
from lakehouse.settings import Settings
from lakehouse.timestamps import as_utc, from_micros
from millrace.tables.table_scan import Row, rows_of, scan
from millrace.trace.costs import COSTS, RECORDS, find_costs
from millrace.trace.history import History, Place, TracedEvent
from millrace.trace.row_events import RowEvents, find_events
from millrace.trace.shop_changes import CHANGES, REJECTED, find_changes
from millrace.trace.traced_rows import find_rows, traceable
from serving.causes.person_rows import CONVERSION_TABLES

COUNTED, CONTEXT, RATE = "counted", "context", "rate"
_RATES = "silver.exchange_rates"
_OF_RECORDS = ("silver.rejected_events", "silver.duplicate_events", RECORDS, CHANGES, REJECTED, _RATES)
_WITHOUT_EVENTS = (COSTS, *DIMENSIONS)
_WITH_MONEY = (
    *CONVERSION_TABLES,
    "gold.traffic",
    "gold.campaign_performance",
    "gold.dimension_performance",
    "gold.persons",
)


@dataclass(frozen=True)
class TracedRecord:
    """A record of bronze behind a row.

    Args:
        place: its coordinates in bronze.
        part: one of the constants of this module.
        event_id: UID of its event, if it is one.
        what: role or type of the event.
        stored: its row of bronze.kafka_records; None if bronze lacks it.
    """

    place: Place
    part: str
    event_id: str | None
    what: str | None
    stored: Row | None


@dataclass(frozen=True)
class Trace:
    """Rows of a table, and the records that they are computed from: counted ones first."""

    table: Table
    rows: list[Row]
    records: list[TracedRecord]


def trace(settings: Settings, name: str, key: Sequence[str]) -> Trace:
    """Trace the rows of a table with a key, or the first values of it, to records.

    Without other records of the home, computing the rows gives the same figures; whether they are final
    depends on the watermark, which all records of a topic move.

    Raises:
        MillraceError: if the table can't be traced, or has no such row.
    """
    table = traceable(name)
    rows = find_rows(settings, table, key)
    if name in _OF_RECORDS:
        found = [_Found(place, COUNTED, row.get("event_id")) for row in rows for place in _places(row)]
        if name == _RATES:
            found += [_Found(_places(row)[0], CONTEXT, None) for row in _next_rates(settings, rows)]
        return Trace(table, rows, _with_stored(settings, found))
    history, zone = History(settings), settings.business_time_zone
    events = RowEvents([], []) if name in _WITHOUT_EVENTS else find_events(history, name, rows, zone)
    found = [_found(each, COUNTED) for each in events.counted]
    found += [_found(each, CONTEXT) for each in events.context]
    every = [*events.counted, *events.context]
    costs = find_costs(history, name, rows)
    changes = find_changes(history, name, rows, settings)
    of_goals = _rates(history, every) if name in _WITH_MONEY else []
    rates = {_places(row)[0]: row for row in (*of_goals, *costs.rates)}.values()
    others = [
        *((COUNTED, row, f"cost of {row['campaign_name']}") for row in costs.counted),
        *((CONTEXT, row, f"cost of {row['campaign_name']}") for row in costs.context),
        *((COUNTED, row, _change(row)) for row in changes.counted),
        *((CONTEXT, row, _change(row)) for row in changes.context),
        *((RATE, row, f"{row['currency']} {row['rate']:f}") for row in rates),
    ]
    found += [_Found(_places(row)[0], part, None, what) for part, row, what in others]
    stamps = {from_micros(each.event.ingested_at) for each in every}
    stamps |= {as_utc(row["ingested_at"]) for _, row, _ in others}
    return Trace(table, rows, _with_stored(settings, found, stamps))


class _Found(NamedTuple):
    place: Place
    part: str
    event_id: str | None
    what: str | None = None


def _found(each: TracedEvent, part: str) -> _Found:
    return _Found(each.place, part, each.event.event_id, each.event.role or each.event.type)


def _change(row: Row) -> str:
    return f"{row['kind']} of {row['source_table']}"


def _places(row: Row) -> list[Place]:
    """Coordinates of the row's record, and of the first one that a duplicate has."""
    prefixes = ("", "first_") if "first_offset" in row else ("",)
    return [Place(*(row[f"{prefix}{name}"] for name in Place._fields)) for prefix in prefixes]


def _next_rates(settings: Settings, rows: Sequence[Row]) -> list[Row]:
    """The rates that end others of the same currency."""
    history = History(settings)
    ends = {(row["currency"], row["valid_to"]) for row in rows}
    found = history.find(_RATES, nw.col("currency").is_in(sorted({currency for currency, _ in ends})))
    return [row for row in found if (row["currency"], row["valid_from"]) in ends]


def _rates(history: History, events: Iterable[TracedEvent]) -> list[Row]:
    """Rows of the exchange rates that apply to goals: the latest that begins before each."""
    times: dict[str, set[datetime]] = {}
    for each in events:
        if each.event.goal and each.currency:
            times.setdefault(each.currency.upper(), set()).add(from_micros(each.event.event_time))
    rates = history.find(_RATES, nw.col("currency").is_in(sorted(times)))
    found: dict[Place, Row] = {}
    for currency, moments in times.items():
        mine = sorted(
            (as_utc(row["valid_from"]), number)
            for number, row in enumerate(rates)
            if row["currency"] == currency
        )
        for at in moments:
            before = [rates[number] for since, number in mine if since <= at]
            found |= {_places(row)[0]: row for row in before[-1:]}
    return [found[place] for place in sorted(found)]


def _with_stored(
    settings: Settings, found: Sequence[_Found], stamps: Collection[datetime] | None = None
) -> list[TracedRecord]:
    stored = stored_records(settings, [each.place for each in found], stamps)
    return [TracedRecord(*each, stored.get(each.place)) for each in found]


def stored_records(
    settings: Settings, places: Collection[Place], stamps: Collection[datetime] | None = None
) -> Mapping[Place, Row]:
    """Rows of bronze by coordinates.

    Args:
        settings: the settings in force.
        places: coordinates.
        stamps: their ingest stamps, by which files are skipped; None if they are not known.
    """
    rows = scan(settings, KAFKA_RECORDS.name)
    if rows is None or not places:
        return {}
    offsets = [place.offset for place in places]
    condition: Any = nw.col("offset").is_between(min(offsets), max(offsets))
    condition &= nw.col("topic").is_in(sorted({place.topic for place in places}))
    if stamps:
        condition &= nw.col("ingested_at").is_between(min(stamps), max(stamps))
    columns = rows.filter(condition & nw.col("offset").is_in(sorted(set(offsets))))
    wanted = set(places)
    found = {Place(row["topic"], row["partition"], row["offset"]): row for row in rows_of(columns)}
    return {place: row for place, row in found.items() if place in wanted}
