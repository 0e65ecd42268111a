"""Planning of micro-batches, waiting for a slot, throttling and stop, without tables."""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.records import NOON
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.run import batch_source, microbatch
from lakehouse.run.batch_counters import TableCounter
from lakehouse.run.batch_source import Batch
from lakehouse.run.draining import draining, is_draining
from lakehouse.run.ledger import Entry
from lakehouse.run.microbatch import Outcome, run_microbatches
from lakehouse.timestamps import EPOCH

MINUTE = timedelta(minutes=1)


class OneBatchLedger:
    """A ledger with one batch of the upstream job, and the rows recorded for this job."""

    recorded: list[Entry]
    sequence = 0

    def __init__(self, _lake: Any) -> None:
        type(self).recorded = []

    def last(self, _job: str) -> Entry | None:
        return None

    def after(self, job: str, _position: Any) -> list[Entry]:
        return [] if self.recorded else [Entry(job, 0, NOON, NOON, 0.0, 1)]

    def record(self, entry: Entry) -> None:
        self.recorded.append(entry)


class Slot:
    """A slot that calls a function while the job waits for it."""

    def __init__(self, on_wait: Callable[[], None]) -> None:
        self._on_wait = on_wait

    def __enter__(self) -> None:
        self._on_wait()

    def __exit__(self, *_: object) -> None:
        pass


class Session:
    """A session without queries."""

    conf = SimpleNamespace(get=lambda _name, default: default)

    def __init__(self) -> None:
        self.kept: dict[int, Any] = {}
        self.sparkContext = SimpleNamespace(_jsc=SimpleNamespace(getPersistentRDDs=lambda: self.kept))


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


def job_context(stop: threading.Event, slot: Slot) -> Any:
    prepared = list[int]()
    return SimpleNamespace(
        prepared=prepared,
        job="refine",
        spark=Session(),
        lake=SimpleNamespace(counter=TableCounter()),
        stop=stop,
        once=True,
        slot=slot,
        settings=SimpleNamespace(max_batch_rows=10, warehouse=Path("warehouse")),
        report_backlog=lambda _rows: None,
        tune_for_batch=prepared.append,
        record_rules=lambda: None,
        report_batch=lambda _rows, _seconds: None,
    )


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


class SideInputLedger(OneBatchLedger):
    """A ledger with changes of the side input, and with rows after some waits."""

    waits = 0
    waits_before_rows = 100

    def last(self, job: str) -> Entry | None:
        if job == "repair":
            return Entry(job, 0, NOON + MINUTE, NOON, 0.0, 1)
        return self.recorded[-1] if self.recorded else Entry(job, 0, NOON, NOON, 0.0, 1)

    def after(self, job: str, position: Any) -> list[Entry]:
        arrived = NOON + 2 * MINUTE
        is_there = self.waits >= self.waits_before_rows and position < arrived
        return [Entry(job, 1, arrived, NOON, 0.0, 1)] if is_there else []

    def wait(self, _sequence: int, seconds: float, _stop: threading.Event) -> None:
        type(self).waits += 1
        assert seconds == 5.0


@pytest.mark.parametrize(
    ("waits_before_rows", "once", "expected"), [(100, False, (3, 0)), (1, False, (1, 1)), (100, True, (0, 0))]
)
def test_changes_of_the_side_input_wait_for_rows_a_trigger_interval_at_most(
    monkeypatch: pytest.MonkeyPatch, waits_before_rows: int, once: bool, expected: tuple[int, int]
) -> None:
    monkeypatch.setattr(microbatch, "Ledger", SideInputLedger)
    monkeypatch.setattr(SideInputLedger, "waits", 0)
    monkeypatch.setattr(SideInputLedger, "waits_before_rows", waits_before_rows)
    clock = SimpleNamespace(monotonic=lambda: 100.0 + 2.0 * SideInputLedger.waits)
    for module in (microbatch, batch_source):
        monkeypatch.setattr(module, "time", clock)
    stop, done = threading.Event(), list[tuple[int, int]]()
    run = job_context(stop, Slot(lambda: None))
    run.once, run.settings.trigger_interval = once, timedelta(seconds=5)

    def process(batch: Batch) -> Outcome:
        assert batch.has_side_input
        done.append((SideInputLedger.waits, batch.rows))
        stop.set()
        return Outcome()

    run_microbatches(run, "refine", process, side_input="repair")
    assert done == [expected]


@pytest.mark.parametrize(
    ("ledger", "expected"),
    [
        pytest.param(SideInputLedger, ["idle"], id="changes of the side input alone"),
        pytest.param(OneBatchLedger, [], id="rows"),
    ],
)
def test_idle_work_is_done_if_the_gate_admits_none_of_the_side_input(
    monkeypatch: pytest.MonkeyPatch, ledger: type, expected: list[str]
) -> None:
    monkeypatch.setattr(microbatch, "Ledger", ledger)
    monkeypatch.setattr(SideInputLedger, "waits", 0)
    run, done = job_context(threading.Event(), Slot(lambda: None)), list[str]()
    run_microbatches(
        run,
        "refine",
        lambda _batch: Outcome(),
        side_input="repair" if ledger is SideInputLedger else None,
        idle=lambda: done.append("idle"),
        gate=lambda _batch: None,
    )
    assert done == expected


@pytest.mark.parametrize(
    ("took", "longest", "waited"),
    [
        (2.0, 120, 28.0),
        (3.0, 120, 27.0),
        (4.0, 120, 36.0),
        (8.0, 120, 72.0),
        (20.0, 120, 100.0),
        (130.0, 120, 0.0),
        (8.0, None, 22.0),
    ],
)
def test_pause_is_ten_times_batch_duration_within_its_bounds(
    monkeypatch: pytest.MonkeyPatch, took: float, longest: int | None, waited: float
) -> None:
    monkeypatch.setattr(microbatch, "Ledger", OneBatchLedger)
    clock, pauses = [100.0], list[float]()
    monkeypatch.setattr(microbatch, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    stop = threading.Event()
    run = job_context(stop, Slot(lambda: None))
    run.once = False

    def pause(_warehouse: Path, seconds: float, _stop: threading.Event) -> None:
        pauses.append(seconds)
        stop.set()

    monkeypatch.setattr(microbatch, "pause_unless_draining", pause)

    def process(batch: Batch) -> Outcome:
        clock[0] += took
        return Outcome(input_rows=batch.rows)

    most = longest and timedelta(seconds=longest)
    run_microbatches(run, "refine", process, pause=timedelta(seconds=30), longest_pause=most)
    assert pauses == [waited]


class RecordingStop(threading.Event):
    """A stop event that the first wait sets; it keeps the timeout of that wait."""

    seconds: float | None = None

    def wait(self, timeout: float | None = None) -> bool:
        self.seconds = timeout
        self.set()
        return True


def test_pause_of_job_that_follows_ingest_goes_on_while_jobs_are_drained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(microbatch, "Ledger", OneBatchLedger)
    monkeypatch.setattr(microbatch, "time", SimpleNamespace(monotonic=lambda: 100.0))
    stop = RecordingStop()
    run = job_context(stop, Slot(lambda: None))
    run.once = False
    with draining(run.settings.warehouse):
        run_microbatches(run, "ingest", lambda _batch: Outcome(), pause=timedelta(seconds=30))
    assert stop.seconds == 30.0


@pytest.mark.parametrize(
    ("starts", "processed_through", "expected"),
    [
        (False, EPOCH, ["waited", "batch"]),
        (True, EPOCH, ["batch"]),
        pytest.param(False, NOON, ["batch", "waited"], id="interrupted batch is repeated"),
    ],
)
def test_job_starts_no_batch_until_jobs_are_drained(
    monkeypatch: pytest.MonkeyPatch, starts: bool, processed_through: datetime, expected: list[str]
) -> None:
    monkeypatch.setattr(microbatch, "Ledger", OneBatchLedger)
    stop, done, drain = threading.Event(), list[str](), ExitStack()
    run = job_context(stop, Slot(lambda: None))
    run.once = False

    def wait(warehouse: Path, _stop: threading.Event) -> None:
        if is_draining(warehouse):
            done.append("waited")
            drain.close()

    def process(_batch: Batch) -> Outcome:
        done.append("batch")
        stop.set()
        return Outcome()

    monkeypatch.setattr(microbatch, "wait_until_drained", wait)
    with drain:
        drain.enter_context(draining(run.settings.warehouse))
        run_microbatches(
            run,
            "ingest",
            process,
            processed_through=processed_through,
            starts_while_draining=starts,
        )
    assert done == expected


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
