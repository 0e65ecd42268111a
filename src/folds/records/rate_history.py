"""Rate history: merges rates by currency and start, and computes their validity periods."""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple


class RateRow(NamedTuple):
    """Row of silver.exchange_rates; times in microseconds since 1970.

    Args:
        currency: its code in capitals.
        rate: value of one unit in the reporting currency.
        valid_from: start, included.
        valid_to: end, excluded; None for the currency's last rate.
        records: number of records with this currency and start.
        topic: topic of the record that counts.
        partition: its partition.
        offset: its offset.
        ingested_at: its ingest stamp.
    """

    currency: str
    rate: Decimal
    valid_from: int
    valid_to: int | None
    records: int
    topic: str
    partition: int
    offset: int
    ingested_at: int | datetime


def merge_rates(rows: Iterable[RateRow]) -> list[RateRow]:
    """Merge rates, and set the validity period of each.

    If several have the same currency and start, the latest in bronze counts: by ingest stamp, then topic,
    partition and offset. A rate is valid until the currency's next rate.

    Args:
        rows: known rates and new records, in any order: all rows of each currency. No new record is already
            included in `records` of a known rate.

    Returns:
        One row per currency and start, in order.
    """
    latest: dict[tuple[str, int], RateRow] = {}
    for row in rows:
        known = latest.get((row.currency, row.valid_from))
        if known is None:
            latest[row.currency, row.valid_from] = row
        else:
            counts = max(row, known, key=_place)
            latest[row.currency, row.valid_from] = counts._replace(records=row.records + known.records)
    in_order = [latest[key] for key in sorted(latest)]
    return [
        row._replace(valid_to=after.valid_from if after and after.currency == row.currency else None)
        for row, after in pairwise([*in_order, None])
        if row
    ]


def _place(row: RateRow) -> tuple[int | datetime, str, int, int, Decimal]:
    return row.ingested_at, row.topic, row.partition, row.offset, row.rate
