"""Exchange rates of the sample traffic: a pure function of seed, currency and month."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from random import Random

from millrace.clients.record import Record

PER_EURO = {"EUR": 1.0, "USD": 1.1, "GBP": 0.86}
"""Units of each currency per euro in the shop's prices."""

_SWING = 0.03
_CORRECTED = "USD"


def monthly_rates(seed: int, reporting: str, first: datetime, last: datetime) -> Iterator[Record]:
    """A rate for each currency of the shop and each month, starting one month before the first event.

    Args:
        seed: the same seed gives the same rates.
        reporting: target currency of the rates; no rates for one that the shop does not use.
        first: approximate time of the first event.
        last: approximate time of the last event.
    """
    month = _month_of(_month_of(first) - timedelta(days=1))
    while month <= last:
        for currency in PER_EURO:
            if currency != reporting.upper() and reporting.upper() in PER_EURO:
                yield _record(currency, _worth(seed, currency, reporting, month), month)
        month = _month_of(month + timedelta(days=31))


def late_rates(seed: int, reporting: str, first: datetime) -> Iterator[Record]:
    """A rate that is valid from about two hours after the first event, but is sent after all events."""
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
