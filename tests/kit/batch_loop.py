"""Stand-ins for what the loop of micro-batches works with: a ledger, a slot, a session, a job's context."""

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kit.records import NOON
from lakehouse.run.batch_counters import TableCounter
from lakehouse.run.ledger import Entry


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
