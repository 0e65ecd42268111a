"""Micro-batches and being asked to stop, without tables."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from kit.records import NOON
from lakehouse import batches
from lakehouse.batches import Batch, Outcome, follow
from lakehouse.ledger import Entry


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


@pytest.mark.parametrize("stopped", [False, True])
def test_who_is_asked_to_stop_while_waiting_for_a_turn_begins_no_batch(
    monkeypatch: pytest.MonkeyPatch, stopped: bool
) -> None:
    monkeypatch.setattr(batches, "Ledger", ShortLedger)
    stop, done = threading.Event(), list[Batch]()
    waiting: AbstractContextManager[Any] = turn(stop.set if stopped else lambda: None)
    run: Any = SimpleNamespace(
        job="refine",
        lake=None,
        stop=stop,
        once=True,
        turn=waiting,
        settings=SimpleNamespace(max_batch_rows=10),
        expect=lambda _rows: None,
        advance=lambda _rows, _seconds: None,
    )

    def process(batch: Batch) -> Outcome:
        done.append(batch)
        return Outcome(input_rows=batch.rows)

    follow(run, "ingest", process)
    assert len(done) == len(ShortLedger.recorded) == (0 if stopped else 1)
