"""The rates that the shop's money is reported at: a pure function of seed, currency and month."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from random import Random

from millrace.clients.record import Record

PER_EURO = {"EUR": 1.0, "USD": 1.1, "GBP": 0.86}
"""What a euro's worth of goods costs in the shop, by currency."""

_SWING = 0.03
_CORRECTED = "USD"


def monthly_rates(seed: int, reporting: str, first: datetime, last: datetime) -> Iterator[Record]:
    """A rate for each of the shop's currencies and each month, from the one before the first time on.

    Args:
        seed: the same seed gives the same rates.
        reporting: the currency that rates are in; none are made for one that the shop doesn't know.
        first: time of the first event, about.
        last: time of the last event, about.
    """
    month = _month_of(_month_of(first) - timedelta(days=1))
    while month <= last:
        for currency in PER_EURO:
            if currency != reporting.upper() and reporting.upper() in PER_EURO:
                yield _record(currency, _worth(seed, currency, reporting, month), month)
        month = _month_of(month + timedelta(days=31))


def late_rates(seed: int, reporting: str, first: datetime) -> Iterator[Record]:
    """A rate that is valid from soon after the first event, and is sent when all of them have been."""
    start = first.replace(minute=0, second=0, microsecond=0) + timedelta(hours=2)
    if reporting.upper() in PER_EURO and reporting.upper() != _CORRECTED:
        yield _record(_CORRECTED, _worth(seed, _CORRECTED, reporting, start), start)


def _worth(seed: int, currency: str, reporting: str, start: datetime) -> float:
    swing = Random(f"{seed} {currency} {start:%Y-%m-%dT%H}").uniform(-_SWING, _SWING)
    return round(PER_EURO[reporting.upper()] / PER_EURO[currency] * (1 + swing), 6)


def _record(currency: str, rate: float, valid_from: datetime) -> Record:
    start = valid_from.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    rate_fields = {"currency": currency, "rate": rate, "valid_from": start}
    return Record(currency.encode(), json.dumps(rate_fields, separators=(",", ":")).encode())


def _month_of(time: datetime) -> datetime:
    return time.astimezone(timezone.utc).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
