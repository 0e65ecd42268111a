"""Planning of micro-batches, the wait for a slot and stop, without tables."""

import threading
from datetime import timedelta
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.batch_loop import OneBatchLedger, Session, Slot, job_context
from kit.records import NOON
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.run import microbatch
from lakehouse.run.batch_source import Batch
from lakehouse.run.ledger import Entry
from lakehouse.run.microbatch import Outcome, run_microbatches

MINUTE = timedelta(minutes=1)


class Frame:
    """A frame and its checkpoint, which can be released."""

    def __init__(self, session: Session) -> None:
        self.sparkSession = session
        self.released = 0
        session.kept[7] = SimpleNamespace(id=lambda: 7, unpersist=self._release)

    def localCheckpoint(self, eager: bool) -> "Frame":  # noqa: N802 - Spark's name
        assert eager
        return self

    @property
    def _jdf(self) -> Any:
        plan = SimpleNamespace(rdd=lambda: self.sparkSession.kept[7])
        return SimpleNamespace(queryExecution=lambda: SimpleNamespace(logical=lambda: plan))

    def _release(self, _blocking: bool) -> None:
        self.released += 1


@pytest.mark.parametrize("stopped", [False, True])
def test_job_stopped_while_waiting_for_slot_starts_no_batch(
    monkeypatch: pytest.MonkeyPatch, stopped: bool
) -> None:
    monkeypatch.setattr(microbatch, "Ledger", OneBatchLedger)
    stop, done = threading.Event(), list[Batch]()
    slot = Slot(stop.set if stopped else lambda: None)
    run = job_context(stop, slot)

    def process(batch: Batch) -> Outcome:
        done.append(batch)
        return Outcome(input_rows=batch.rows)

    run_microbatches(run, "ingest", process)
    assert len(done) == len(OneBatchLedger.recorded) == (0 if stopped else 1)


def test_checkpoints_of_batch_are_released_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microbatch, "Ledger", OneBatchLedger)
    run = job_context(threading.Event(), Slot(lambda: None))
    frame: Any = Frame(run.spark)

    def process(_batch: Batch) -> Outcome:
        checkpoint(frame)
        assert frame.released == 0
        return Outcome()

    run_microbatches(run, "ingest", process)
    assert frame.released == 1


class GrowingLedger(OneBatchLedger):
    """The upstream job commits another batch while this job waits for its slot."""

    initial_batches = 1

    def after(self, job: str, position: Any) -> list[Entry]:
        entries = [
            Entry(job, number, NOON + number * MINUTE, NOON, 0.0, 1)
            for number in range(self.initial_batches + self.sequence)
        ]
        return [entry for entry in entries if not self.recorded or entry.position > position]

    def last(self, _job: str) -> Entry | None:
        return self.recorded[-1] if self.recorded else None


def test_rows_committed_while_waiting_for_slot_are_in_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microbatch, "Ledger", GrowingLedger)
    monkeypatch.setattr(GrowingLedger, "sequence", 0)
    done = list[Batch]()

    def process(batch: Batch) -> Outcome:
        done.append(batch)
        return Outcome(input_rows=batch.rows)

    run = job_context(threading.Event(), Slot(lambda: monkeypatch.setattr(GrowingLedger, "sequence", 1)))
    run_microbatches(run, "ingest", process)
    assert [(batch.upto, batch.rows) for batch in done] == [(NOON + MINUTE, 2)]
    assert run.prepared == [2]


class LateLedger(GrowingLedger):
    """The upstream job commits its first batch while this job waits for its slot to be idle."""

    initial_batches = 0


def test_idle_job_processes_batch_committed_while_waiting_for_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microbatch, "Ledger", LateLedger)
    monkeypatch.setattr(LateLedger, "sequence", 0)
    done = list[str]()

    def process(batch: Batch) -> Outcome:
        done.append("batch")
        return Outcome(input_rows=batch.rows)

    def idle() -> None:
        done.append("rest")

    slot = Slot(lambda: monkeypatch.setattr(LateLedger, "sequence", 1))
    run_microbatches(job_context(threading.Event(), slot), "ingest", process, idle=idle)
    assert done == ["batch", "rest"]


class FullLedger(OneBatchLedger):
    """A ledger with all batches of the upstream job, and those of this job."""

    upstream: list[Entry]

    def after(self, _job: str, position: Any) -> list[Entry]:
        return [entry for entry in self.upstream if entry.position > position]

    def last(self, _job: str) -> Entry | None:
        return self.recorded[-1] if self.recorded else None


def batches_of(rows: list[int], most: int, interrupted: int) -> list[Batch]:
    """Batches over upstream batches of these row counts; tables contain the first `interrupted` of these."""
    done = list[Batch]()

    def process(batch: Batch) -> Outcome:
        done.append(batch)
        return Outcome(input_rows=batch.rows)

    run = job_context(threading.Event(), Slot(lambda: None))
    run.settings.max_batch_rows = most
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(microbatch, "Ledger", FullLedger)
        upstream = [Entry("ingest", n, NOON + n * MINUTE, NOON, 0.0, each) for n, each in enumerate(rows, 1)]
        patch.setattr(FullLedger, "upstream", upstream, raising=False)
        run_microbatches(run, "ingest", process, processed_through=NOON + interrupted * MINUTE)
    return done


@given(st.lists(st.integers(0, 12), min_size=1, max_size=12), st.integers(0, 5))
def test_batches_cover_whole_upstream_batches_in_order(rows: list[int], interrupted: int) -> None:
    """A batch exceeds the maximum only to repeat an interrupted one, or for a single upstream batch."""
    done, most = batches_of(rows, 10, interrupted), 10
    assert sum(batch.rows for batch in done) == sum(rows)
    assert [batch.id for batch in done] == list(range(len(done)))
    for batch, following in pairwise(done):
        assert following.after == batch.upto
    for number, batch in enumerate(done):
        is_repeated = number == 0 and interrupted > 0
        assert batch.rows <= most or is_repeated or batch.rows in rows
