"""Sample exchange rates: deterministic by seed, one per currency and month, one of them late."""

import json
from datetime import datetime, timezone

import pytest

from millrace.clients.produce_sample import Wanted
from millrace.clients.record import Record

START = datetime(2026, 3, 31, 22, 30, tzinfo=timezone.utc)
WANTED = Wanted(events=20_000, start=START)


def reported(records: list[Record]) -> list[tuple[str, str]]:
    return [(rate["currency"], rate["valid_from"]) for rate in (json.loads(r.value) for r in records)]


def test_rates_are_one_per_currency_and_month_from_previous_month() -> None:
    records = list(WANTED.rates("EUR"))
    starts = [f"2026-{month:02}-01T00:00:00Z" for month in (2, 3, 4)]
    assert sorted(reported(records)) == sorted((code, start) for code in ("USD", "GBP") for start in starts)
    assert records == list(WANTED.rates("eur"))
    assert records != list(Wanted(events=20_000, start=START, seed=1).rates("EUR"))
    assert all(record.key.decode() == json.loads(record.value)["currency"] for record in records)


def test_one_rate_is_sent_late() -> None:
    assert reported(list(WANTED.late_rates("EUR"))) == [("USD", "2026-04-01T00:00:00Z")]
    assert list(Wanted(rate=5.0).late_rates("EUR")) == []


@pytest.mark.parametrize(("reporting", "codes"), [("USD", {"EUR", "GBP"}), ("CHF", set())])
def test_rates_depend_on_reporting_currency(reporting: str, codes: set[str]) -> None:
    assert {code for code, _ in reported(list(WANTED.rates(reporting)))} == codes
    assert list(WANTED.late_rates(reporting)) == []
