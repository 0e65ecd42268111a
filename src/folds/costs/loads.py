"""Loads of cost files: of a day, the latest load that is complete counts, and no other."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import NamedTuple


class CostRecord(NamedTuple):
    """Row of silver.cost_records, and the time of its exchange rate; times in microseconds since 1970.

    Args:
        platform: mapping that read the file.
        account: account at the platform.
        day: day of the cost.
        campaign_source: campaign's source.
        campaign_medium: campaign's medium.
        campaign_name: campaign's name in the file.
        cost: money spent, in `currency`.
        currency: its code in capitals.
        clicks: that the platform counted.
        impressions: that the platform counted.
        loaded_at: when the file was loaded.
        load_id: hash of the file's content.
        load_row: number of the row among the load's rows of this day, from 1.
        load_rows: number of these rows.
        ingested_at: the record's ingest stamp.
        at: the time whose exchange rate counts.
    """

    platform: str
    account: str
    day: date
    campaign_source: str | None
    campaign_medium: str | None
    campaign_name: str
    cost: Decimal
    currency: str
    clicks: int | None
    impressions: int | None
    loaded_at: int
    load_id: str
    load_row: int
    load_rows: int
    ingested_at: int
    at: int


def current_load(records: Iterable[CostRecord]) -> list[CostRecord]:
    """The rows of the load that counts for one account's day, each once and in order; empty if none does.

    A load that is not complete yet replaces nothing, so a day is never half the old file and half the new.
    A copy of a row counts once, as of the first to come. The order of arrival does not matter.

    Args:
        records: all records of one platform, account and day, in any order.
    """
    loads: dict[tuple[int, str], dict[int, CostRecord]] = defaultdict(dict)
    for record in records:
        rows = loads[record.loaded_at, record.load_id]
        known = rows.get(record.load_row)
        if known is None or _order(record) < _order(known):
            rows[record.load_row] = record
    complete = [load for load, rows in loads.items() if _is_complete(rows)]
    return [row for _, row in sorted(loads[max(complete)].items())] if complete else []


def _is_complete(rows: dict[int, CostRecord]) -> bool:
    return len(rows) >= max(row.load_rows for row in rows.values())


def _order(record: CostRecord) -> tuple[object, ...]:
    """Order of arrival; of records in one commit, an order by content."""
    return record.ingested_at, *map(str, record)
