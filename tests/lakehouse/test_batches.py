"""Micro-batches, turns, and being asked to stop, without tables."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from kit.records import NOON
from lakehouse import batches
from lakehouse.batches import Batch, Outcome, follow
from lakehouse.ledger import Entry

MINUTE = timedelta(minutes=1)


class ShortLedger:
    """One micro-batch of the job before, and what is recorded of this one."""

    recorded: list[Entry]
    told = 0

    def __init__(self, _lake: Any) -> None:
        type(self).recorded = []

    def last(self, _job: str) -> Entry | None:
        return None

    def after(self, job: str, _position: Any) -> list[Entry]:
        return [] if self.recorded else [Entry(job, 0, NOON, NOON, 0.0, 1)]

    def record(self, entry: Entry) -> None:
        self.recorded.append(entry)


@contextmanager
def turn(on_enter: Callable[[], None]) -> Any:
    on_enter()
    yield


def a_run(stop: threading.Event, waiting: AbstractContextManager[Any]) -> Any:
    return SimpleNamespace(
        job="refine",
        lake=None,
        stop=stop,
        once=True,
        turn=waiting,
        settings=SimpleNamespace(max_batch_rows=10),
        expect=lambda _rows: None,
        advance=lambda _rows, _seconds: None,
    )


@pytest.mark.parametrize("stopped", [False, True])
def test_who_is_asked_to_stop_while_waiting_for_a_turn_begins_no_batch(
    monkeypatch: pytest.MonkeyPatch, stopped: bool
) -> None:
    monkeypatch.setattr(batches, "Ledger", ShortLedger)
    stop, done = threading.Event(), list[Batch]()
    waiting: AbstractContextManager[Any] = turn(stop.set if stopped else lambda: None)
    run = a_run(stop, waiting)

    def process(batch: Batch) -> Outcome:
        done.append(batch)
        return Outcome(input_rows=batch.rows)

    follow(run, "ingest", process)
    assert len(done) == len(ShortLedger.recorded) == (0 if stopped else 1)


class GrowingLedger(ShortLedger):
    """Another micro-batch of the job before comes while this job waits for its turn."""

    def after(self, job: str, position: Any) -> list[Entry]:
        entries = [
            Entry(job, number, NOON + number * MINUTE, NOON, 0.0, 1) for number in range(self.told + 1)
        ]
        return [entry for entry in entries if not self.recorded or entry.position > position]

    def last(self, _job: str) -> Entry | None:
        return self.recorded[-1] if self.recorded else None


def test_what_comes_while_waiting_for_a_turn_is_in_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "Ledger", GrowingLedger)
    monkeypatch.setattr(GrowingLedger, "told", 0)
    done = list[Batch]()

    def process(batch: Batch) -> Outcome:
        done.append(batch)
        return Outcome(input_rows=batch.rows)

    waiting = turn(lambda: monkeypatch.setattr(GrowingLedger, "told", 1))
    follow(a_run(threading.Event(), waiting), "ingest", process)
    assert [(batch.upto, batch.rows) for batch in done] == [(NOON + MINUTE, 2)]
