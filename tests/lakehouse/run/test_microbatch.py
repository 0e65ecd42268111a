"""Micro-batches, turns, and being asked to stop, without tables."""

import threading
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.records import NOON
from lakehouse.run import microbatch
from lakehouse.run.batch_counters import TableCounter
from lakehouse.run.ledger import Entry
from lakehouse.run.microbatch import Batch, FollowingBatch, Outcome, run_microbatches

MINUTE = timedelta(minutes=1)


class ShortLedger:
    """One micro-batch of the job before, and what is recorded of this one."""

    recorded: list[Entry]
    sequence = 0

    def __init__(self, _lake: Any) -> None:
        type(self).recorded = []

    def last(self, _job: str) -> Entry | None:
        return None

    def after(self, job: str, _position: Any) -> list[Entry]:
        return [] if self.recorded else [Entry(job, 0, NOON, NOON, 0.0, 1)]

    def rows_read(self, _job: str) -> int:
        return 5

    def record(self, entry: Entry) -> None:
        self.recorded.append(entry)


class Turn:
    """Something happens while a job waits for it."""

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        self._meanwhile = meanwhile

    def __enter__(self) -> None:
        self._meanwhile()

    def __exit__(self, *_: object) -> None:
        pass


def a_run(stop: threading.Event, waiting: Turn) -> Any:
    prepared = list[tuple[int, int]]()
    return SimpleNamespace(
        prepared=prepared,
        job="refine",
        spark=None,
        lake=SimpleNamespace(counter=TableCounter()),
        stop=stop,
        once=True,
        slot=waiting,
        settings=SimpleNamespace(max_batch_rows=10),
        report_backlog=lambda _rows: None,
        tune_for_batch=lambda rows, history_rows: prepared.append((rows, history_rows)),
        record_rules=lambda: None,
        report_batch=lambda _rows, _seconds: None,
    )


@pytest.mark.parametrize("stopped", [False, True])
def test_who_is_asked_to_stop_while_waiting_for_a_turn_begins_no_batch(
    monkeypatch: pytest.MonkeyPatch, stopped: bool
) -> None:
    monkeypatch.setattr(microbatch, "Ledger", ShortLedger)
    stop, done = threading.Event(), list[Batch]()
    waiting = Turn(stop.set if stopped else lambda: None)
    run = a_run(stop, waiting)

    def process(batch: Batch) -> Outcome:
        done.append(batch)
        return Outcome(input_rows=batch.rows)

    run_microbatches(run, "ingest", process)
    assert len(done) == len(ShortLedger.recorded) == (0 if stopped else 1)


class GrowingLedger(ShortLedger):
    """Another micro-batch of the job before comes while this job waits for its turn."""

    at_first = 1

    def after(self, job: str, position: Any) -> list[Entry]:
        entries = [
            Entry(job, number, NOON + number * MINUTE, NOON, 0.0, 1)
            for number in range(self.at_first + self.sequence)
        ]
        return [entry for entry in entries if not self.recorded or entry.position > position]

    def last(self, _job: str) -> Entry | None:
        return self.recorded[-1] if self.recorded else None


def test_what_comes_while_waiting_for_a_turn_is_in_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microbatch, "Ledger", GrowingLedger)
    monkeypatch.setattr(GrowingLedger, "sequence", 0)
    done = list[Batch]()

    def process(batch: Batch) -> Outcome:
        done.append(batch)
        return Outcome(input_rows=batch.rows)

    run = a_run(threading.Event(), Turn(lambda: monkeypatch.setattr(GrowingLedger, "sequence", 1)))
    run_microbatches(run, "ingest", process)
    assert [(batch.upto, batch.rows) for batch in done] == [(NOON + MINUTE, 2)]
    assert run.prepared == [(2, 0)]


class LongLedger(ShortLedger):
    """One micro-batch has been done before."""

    def last(self, job: str) -> Entry | None:
        return self.recorded[-1] if self.recorded else Entry(job, 7, NOON - MINUTE, NOON, 0.0, 5)


def test_what_was_read_in_earlier_runs_is_behind_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microbatch, "Ledger", LongLedger)
    run = a_run(threading.Event(), Turn(lambda: None))
    run_microbatches(run, "ingest", lambda batch: Outcome(input_rows=batch.rows))
    assert run.prepared == [(1, 5)]


class Waiting(threading.Event):
    """Is set by the first wait, and says how long that was to be."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: float | None = None

    def wait(self, timeout: float | None = None) -> bool:
        self.seconds = timeout
        self.set()
        return True


@pytest.mark.parametrize(("took", "rest"), [(2.0, 28.0), (3.0, 27.0), (4.0, 36.0), (8.0, 52.0), (90.0, 0.0)])
def test_a_job_with_a_pause_leaves_others_nine_parts_of_the_time_in_ten(
    monkeypatch: pytest.MonkeyPatch, took: float, rest: float
) -> None:
    monkeypatch.setattr(microbatch, "Ledger", ShortLedger)
    clock = [100.0]
    monkeypatch.setattr(microbatch, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    stop = Waiting()
    run = a_run(stop, Turn(lambda: None))
    run.once = False

    def process(batch: Batch) -> Outcome:
        clock[0] += took
        return Outcome(input_rows=batch.rows)

    run_microbatches(run, "refine", process, pause=timedelta(seconds=30))
    assert stop.seconds == rest


class LateLedger(GrowingLedger):
    """The first micro-batch of the job before comes while this job waits for its turn to rest."""

    at_first = 0


def test_who_would_rest_takes_up_what_came_while_waiting_for_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microbatch, "Ledger", LateLedger)
    monkeypatch.setattr(LateLedger, "sequence", 0)
    done = list[str]()

    def process(batch: Batch) -> Outcome:
        done.append("batch")
        return Outcome(input_rows=batch.rows)

    def rest() -> None:
        done.append("rest")

    waiting = Turn(lambda: monkeypatch.setattr(LateLedger, "sequence", 1))
    run_microbatches(a_run(threading.Event(), waiting), "ingest", process, idle=rest)
    assert done == ["batch", "rest"]


class WholeLedger(ShortLedger):
    """All micro-batches of the upstream job, and those of this one."""

    upstream: list[Entry]

    def after(self, _job: str, position: Any) -> list[Entry]:
        return [entry for entry in self.upstream if entry.position > position]

    def last(self, _job: str) -> Entry | None:
        return self.recorded[-1] if self.recorded else None


def batches_of(rows: list[int], once: bool, most: int = 10, interrupted: int = 0) -> list[Batch]:
    """Micro-batches over upstream batches of so many rows; tables have the first `interrupted` of these."""
    done, stop = list[Batch](), threading.Event()

    def process(batch: Batch) -> Outcome:
        done.append(batch)
        if batch.upto == NOON + len(rows) * MINUTE:
            stop.set()
        return Outcome(input_rows=batch.rows)

    run = a_run(stop, Turn(lambda: None))
    run.once, run.settings = once, SimpleNamespace(max_batch_rows=most)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(microbatch, "Ledger", WholeLedger)
        upstream = [Entry("ingest", n, NOON + n * MINUTE, NOON, 0.0, each) for n, each in enumerate(rows, 1)]
        patch.setattr(WholeLedger, "upstream", upstream, raising=False)
        run_microbatches(run, "ingest", process, processed_through=NOON + interrupted * MINUTE)
    return done


@given(st.lists(st.integers(0, 12), min_size=1, max_size=12), st.integers(0, 5), st.booleans())
def test_the_following_batch_is_the_one_that_follows(rows: list[int], interrupted: int, once: bool) -> None:
    done = batches_of(rows, once, interrupted=interrupted)
    assert sum(batch.rows for batch in done) == sum(rows)
    for batch, following in pairwise(done):
        if batch.following or once:
            assert batch.following == FollowingBatch(following.upto, following.rows)
    assert done[-1].following is None


@pytest.mark.parametrize(
    ("rows", "once", "known"),
    [([10, 5], True, True), ([10, 5], False, False), ([10, 5, 6], False, True), ([10, 5, 5], False, False)],
)
def test_a_following_batch_that_may_grow_is_not_known(rows: list[int], once: bool, known: bool) -> None:
    first, *_ = batches_of(rows, once)
    assert (first.following is not None) == known
