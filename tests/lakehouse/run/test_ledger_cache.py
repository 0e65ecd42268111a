"""The ledger cache: ledger rows that an application keeps in memory."""

import threading
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from lakehouse.run import ledger_cache
from lakehouse.run.ledger import Entry
from lakehouse.run.ledger_cache import LedgerCache, exclusive_ledger, ledger_cache_of
from lakehouse.settings import load_settings

_START = datetime(2026, 3, 1, tzinfo=timezone.utc)


def _at(minute: int) -> datetime:
    return _START + timedelta(minutes=minute)


def _entry(number: int, job: str = "refine") -> Entry:
    return Entry(job, number, _at(number), _START, 0.0, 1)


class _Table:
    """A ledger table that counts its reads."""

    def __init__(self, *rows: Entry) -> None:
        self.rows = list(rows)
        self.reads = 0

    def last(self, job: str) -> Entry | None:
        self.reads += 1
        return next((row for row in reversed(self.rows) if row.job == job), None)


def test_ledger_table_is_read_once_and_later_rows_are_cached() -> None:
    table, cache = _Table(_entry(0), _entry(1)), LedgerCache[Entry]()
    assert cache.last("refine", table.last) == _entry(1)
    cache.add(_entry(2))
    cache.add(_entry(3))
    assert cache.last("refine", table.last) == _entry(3)
    assert cache.after("refine", _at(1), table.last) == [_entry(2), _entry(3)]
    assert cache.after("refine", _at(2), table.last) == [_entry(3)]
    assert table.reads == 1


def test_cache_returns_none_for_rows_before_its_first() -> None:
    table, cache = _Table(_entry(0), _entry(1)), LedgerCache[Entry]()
    assert cache.after("refine", _at(0), table.last) is None
    assert cache.after("refine", _at(1), table.last) == []


def test_cache_of_job_without_rows_is_complete() -> None:
    table, cache = _Table(), LedgerCache[Entry]()
    assert cache.last("refine", table.last) is None
    cache.add(_entry(0))
    assert cache.after("refine", datetime(1970, 1, 1, tzinfo=timezone.utc), table.last) == [_entry(0)]


def test_row_already_read_is_not_cached_twice() -> None:
    table, cache = _Table(_entry(0)), LedgerCache[Entry]()
    cache.last("refine", table.last)  # between its commit and its `add`
    cache.add(_entry(0))
    cache.add(_entry(1))
    assert cache.after("refine", _at(0), table.last) == [_entry(1)]
    assert cache.last("refine", table.last) == _entry(1)


def test_rows_of_jobs_are_cached_separately() -> None:
    table, cache = _Table(), LedgerCache[Entry]()
    for job in ("refine", "repair"):
        cache.last(job, table.last)
        cache.add(_entry(0, job))
    cache.add(_entry(1, "repair"))
    assert cache.last("refine", table.last) == _entry(0, "refine")
    assert cache.last("repair", table.last) == _entry(1, "repair")


def test_oldest_rows_are_evicted_from_full_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_cache, "MOST_ROWS", 3)
    table, cache = _Table(), LedgerCache[Entry]()
    cache.last("refine", table.last)
    for number in range(5):
        cache.add(_entry(number))
    assert cache.after("refine", _at(0), table.last) is None
    assert cache.after("refine", _at(1), table.last) == [_entry(number) for number in (2, 3, 4)]


def test_added_row_wakes_waiting_thread() -> None:
    cache = LedgerCache[Entry]()
    waiting = threading.Thread(target=cache.wait, args=(cache.sequence, 60.0, threading.Event()), daemon=True)
    waiting.start()
    cache.add(_entry(0))
    waiting.join(10)
    assert not waiting.is_alive()


def test_wait_returns_at_once_if_row_was_added_before() -> None:
    cache, began = LedgerCache[Entry](), time.monotonic()
    reported = cache.sequence
    cache.add(_entry(0))
    cache.wait(reported, 60.0, threading.Event())
    assert time.monotonic() - began < 10


def test_wait_returns_at_once_after_stop() -> None:
    stop, began = threading.Event(), time.monotonic()
    stop.set()
    LedgerCache[Entry]().wait(0, 60.0, stop)
    assert time.monotonic() - began < 10


def test_only_exclusive_writer_of_home_has_ledger_cache(tmp_path: Path) -> None:
    here, elsewhere = (load_settings(home=tmp_path / name) for name in ("here", "elsewhere"))
    with exclusive_ledger(here):
        assert ledger_cache_of(here) is ledger_cache_of(load_settings(home=tmp_path / "here"))
        assert ledger_cache_of(elsewhere) is None
    assert ledger_cache_of(here) is None
