"""When the maintenance job vacuums a table, and what it does at a conflict; without Spark."""

from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from delta.exceptions import ConcurrentDeleteReadException

from kit.records import NOON
from lakehouse.contracts.gold import CONVERSIONS
from lakehouse.maintenance import maintenance_job
from lakehouse.maintenance.file_sizes import Compacted
from lakehouse.maintenance.maintenance_job import maintain

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@dataclass
class Simulated:
    """A run of the job over one table, without Spark."""

    warehouse: Path
    kept: timedelta
    hours: float = 0
    compactions: list[Compacted | Exception] = field(default_factory=list)
    positions: dict[str, datetime] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)

    def maintain(self) -> None:
        lake = SimpleNamespace(exclusive=lambda *_names: nullcontext())
        settings = SimpleNamespace(
            catalog=None, vacuum_retention=self.kept, feed_retention=2 * DAY, warehouse=self.warehouse
        )
        run: Any = SimpleNamespace(
            lake=lake,
            settings=settings,
            spark=None,
            stop=Event(),
            slot=nullcontext(),
            report_backlog=lambda _rows: None,
            log=self.done.append,
            report_batch=lambda _rows, _seconds: None,
        )
        maintain(run)

    def compact(self) -> Compacted:
        found = self.compactions.pop() if self.compactions else Compacted(1, 1)
        if isinstance(found, Exception):
            raise found
        return found


@pytest.fixture
def simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Simulated:
    run = Simulated(tmp_path, timedelta(days=7))
    clock = SimpleNamespace(monotonic=lambda: 1000 + run.hours * HOUR.total_seconds())
    monkeypatch.setattr(maintenance_job, "time", clock)
    for name in ("set_retention", "set_statistics"):
        monkeypatch.setattr(maintenance_job, name, lambda *_: None)
    table = SimpleNamespace(compact=run.compact, vacuum=lambda: run.done.append(CONVERSIONS.name))
    monkeypatch.setattr(maintenance_job, "maintained_table", lambda *_: table)
    monkeypatch.setattr(maintenance_job, "delete_expired", lambda _, name, __: run.done.append(f"-{name}"))
    monkeypatch.setattr(
        maintenance_job, "Ledger", lambda _lake: SimpleNamespace(positions=lambda: run.positions)
    )
    monkeypatch.setattr(maintenance_job, "exists", lambda *known: known[-1] == CONVERSIONS.name)
    return run


@pytest.mark.parametrize(("kept", "vacuums"), [(timedelta(days=7), 4), (timedelta(0), 10)])
def test_vacuum_runs_28_times_per_retention_period(
    simulated: Simulated, kept: timedelta, vacuums: int
) -> None:
    simulated.kept = kept
    for _ in range(10):  # every two hours; a vacuum is due every six
        simulated.maintain()
        simulated.hours += 2
    assert simulated.done == [f"-{CONVERSIONS.name}", CONVERSIONS.name] * vacuums


def test_concurrently_rewritten_table_is_skipped_until_next_run(simulated: Simulated) -> None:
    simulated.compactions = [Compacted(20, 1), ConcurrentDeleteReadException("DELTA_CONCURRENT_DELETE_READ")]
    simulated.kept = timedelta(days=70)
    for _ in range(2):
        simulated.maintain()
    assert [line for line in simulated.done if ": " in line] == [
        f"{CONVERSIONS.name}: in use, skipped until the next run",
        f"{CONVERSIONS.name}: 20 files compacted to 1",
    ]


@pytest.mark.parametrize(("lag", "kept"), [(HOUR, (7 * DAY, 2 * DAY)), (3 * DAY, (7 * DAY, 6 * DAY))])
def test_files_and_log_entries_are_kept_while_gold_lags(
    simulated: Simulated, monkeypatch: pytest.MonkeyPatch, lag: timedelta, kept: tuple[timedelta, timedelta]
) -> None:
    """While the gate is closed, tables of silver are read as of the position of gold."""
    simulated.positions = {"refine": NOON, "publish": NOON - lag}
    found = []
    monkeypatch.setattr(maintenance_job, "set_retention", lambda *given: found.append(given[2:]))
    simulated.maintain()
    assert found == [kept]
