"""Pauses of a job between its micro-batches, and while jobs are drained, without tables."""

import threading
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from kit.batch_loop import OneBatchLedger, Slot, job_context
from kit.records import NOON
from lakehouse.run import microbatch
from lakehouse.run.batch_source import Batch
from lakehouse.run.draining import draining, is_draining
from lakehouse.run.microbatch import Outcome, run_microbatches
from lakehouse.timestamps import EPOCH


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
