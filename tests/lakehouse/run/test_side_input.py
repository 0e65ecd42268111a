"""Changes of a job's side input start a micro-batch, without tables."""

import threading
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from kit.batch_loop import OneBatchLedger, Slot, job_context
from kit.records import NOON
from lakehouse.run import batch_source, microbatch
from lakehouse.run.batch_source import Batch
from lakehouse.run.ledger import Entry
from lakehouse.run.microbatch import Outcome, run_microbatches

MINUTE = timedelta(minutes=1)


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
