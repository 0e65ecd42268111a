"""What an application knows of its own ledger, without reading it."""

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
    """The ledger as others see it; counts how often it is read."""

    def __init__(self, *rows: Entry) -> None:
        self.rows = list(rows)
        self.reads = 0

    def last(self, job: str) -> Entry | None:
        self.reads += 1
        return next((row for row in reversed(self.rows) if row.job == job), None)


def test_what_was_there_before_is_read_once_and_the_rest_is_known() -> None:
    table, known = _Table(_entry(0), _entry(1)), LedgerCache[Entry]()
    assert known.last("refine", table.last) == _entry(1)
    known.add(_entry(2))
    known.add(_entry(3))
    assert known.last("refine", table.last) == _entry(3)
    assert known.after("refine", _at(1), table.last) == [_entry(2), _entry(3)]
    assert known.after("refine", _at(2), table.last) == [_entry(3)]
    assert table.reads == 1


def test_further_back_than_is_known_the_table_must_tell() -> None:
    table, known = _Table(_entry(0), _entry(1)), LedgerCache[Entry]()
    assert known.after("refine", _at(0), table.last) is None
    assert known.after("refine", _at(1), table.last) == []


def test_a_job_without_rows_is_known_from_its_beginning() -> None:
    table, known = _Table(), LedgerCache[Entry]()
    assert known.last("refine", table.last) is None
    known.add(_entry(0))
    assert known.after("refine", datetime(1970, 1, 1, tzinfo=timezone.utc), table.last) == [_entry(0)]


def test_a_row_that_was_read_already_is_not_known_twice() -> None:
    table, known = _Table(_entry(0)), LedgerCache[Entry]()
    known.last("refine", table.last)  # between the commit and its being told
    known.add(_entry(0))
    known.add(_entry(1))
    assert known.after("refine", _at(0), table.last) == [_entry(1)]
    assert known.last("refine", table.last) == _entry(1)


def test_jobs_are_kept_apart() -> None:
    table, known = _Table(), LedgerCache[Entry]()
    for job in ("refine", "repair"):
        known.last(job, table.last)
        known.add(_entry(0, job))
    known.add(_entry(1, "repair"))
    assert known.last("refine", table.last) == _entry(0, "refine")
    assert known.last("repair", table.last) == _entry(1, "repair")


def test_rows_beyond_the_most_that_are_kept_are_the_tables_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_cache, "_MAX_ROWS", 3)
    table, known = _Table(), LedgerCache[Entry]()
    known.last("refine", table.last)
    for number in range(5):
        known.add(_entry(number))
    assert known.after("refine", _at(0), table.last) is None
    assert known.after("refine", _at(1), table.last) == [_entry(number) for number in (2, 3, 4)]


def test_who_waits_hears_of_a_row_at_once() -> None:
    known = LedgerCache[Entry]()
    waiting = threading.Thread(target=known.wait, args=(known.sequence, 60.0, threading.Event()), daemon=True)
    waiting.start()
    known.add(_entry(0))
    waiting.join(10)
    assert not waiting.is_alive()


def test_a_row_that_came_before_the_wait_began_is_not_waited_for() -> None:
    known, began = LedgerCache[Entry](), time.monotonic()
    reported = known.sequence
    known.add(_entry(0))
    known.wait(reported, 60.0, threading.Event())
    assert time.monotonic() - began < 10


def test_who_is_to_stop_does_not_wait_on() -> None:
    stop, began = threading.Event(), time.monotonic()
    stop.set()
    LedgerCache[Entry]().wait(0, 60.0, stop)
    assert time.monotonic() - began < 10


def test_only_the_sole_writer_of_a_home_recalls(tmp_path: Path) -> None:
    here, elsewhere = (load_settings(home=tmp_path / name) for name in ("here", "elsewhere"))
    with exclusive_ledger(here):
        assert ledger_cache_of(here) is ledger_cache_of(load_settings(home=tmp_path / "here"))
        assert ledger_cache_of(elsewhere) is None
    assert ledger_cache_of(here) is None
