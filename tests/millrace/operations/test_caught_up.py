"""The waits of an erasure and a rebuild for repair and publish, under a steady load, without tables."""

import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kit.records import NOON
from lakehouse.errors import MillraceError
from lakehouse.run.draining import is_draining
from lakehouse.run.ledger import Entry
from millrace.operations import caught_up as module
from millrace.operations.caught_up import caught_up, wait_for_publish

HOME = Path("home")
STOPPED = MillraceError("the job was stopped", "Run it again")


class SteadyLoad:
    """A ledger: in each wait, records arrive, refine processes all but those, and the others what refine had.

    Args:
        backlog: number of waits in which repair and publish don't follow.
        heard_late: whether publish has the changes of repair one wait later than its rows.
    """

    def __init__(self, backlog: int = 0, heard_late: bool = False) -> None:
        self.sequence = 0
        self.backlog = backlog
        self.heard_late = heard_late
        self.at = {"ingest": 2, "refine": 1, "repair": 0, "publish": 0}
        self.heard = 0
        self.is_running = True
        self.drained_since: int | None = None  # the wait

    def last(self, job: str) -> Entry:
        heard = stamp(self.heard) if job == "publish" else None
        return Entry(job, self.at[job], stamp(self.at[job]), NOON, 0.0, 1, heard=heard)

    def input_rows_after(self, job: str, position: datetime) -> int:
        return sum(10 for each in range(1, self.at[job] + 1) if stamp(each) > position)

    def wait(self, sequence: int, _seconds: float, stop: threading.Event) -> None:
        assert sequence == self.sequence
        self.sequence += 1
        assert self.sequence < 50, "repair and publish never catch up"
        if not self.is_running:
            return
        if is_draining(HOME) and self.drained_since is None:
            self.drained_since = self.sequence
        if self.sequence > self.backlog:
            self.heard = self.at["repair"] if self.heard_late else self.at["refine"]
            self.at |= {"repair": self.at["refine"], "publish": self.at["refine"]}
        if not is_draining(HOME):
            self.at["refine"] = self.at["ingest"]
        self.at["ingest"] += 1


def stamp(number: int) -> datetime:
    return NOON + timedelta(minutes=number)


def context() -> Any:
    return Context()


@dataclass
class Context:
    """What the wait needs of a job's context."""

    stop: threading.Event = field(default_factory=threading.Event)
    slot: Any = field(default_factory=nullcontext)
    lake: Any = field(default_factory=lambda: SimpleNamespace(exclusive=lambda *_: nullcontext()))
    settings: Any = field(
        default_factory=lambda: SimpleNamespace(
            warehouse=HOME, max_batch_rows=30, trigger_interval=timedelta(seconds=10)
        )
    )
    lines: list[str] = field(default_factory=list)
    batch_rows: list[int] = field(default_factory=list)

    def log(self, line: str) -> None:
        self.lines.append(line)

    def tune_for_batch(self, rows: int) -> None:
        self.batch_rows.append(rows)


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[SteadyLoad], SteadyLoad]]:
    """Returns a function that makes a ledger the one of the home."""

    def use(ledger: SteadyLoad) -> SteadyLoad:
        monkeypatch.setattr(module, "Ledger", lambda _lake: ledger)
        return ledger

    monkeypatch.setattr(module, "require_open", lambda _lake: None)
    monkeypatch.setattr(module, "_is_interrupted", lambda _run, _ledger: False)
    yield use
    assert not is_draining(HOME)


Load = Callable[[SteadyLoad], SteadyLoad]


@pytest.mark.parametrize("heard_late", [False, True])
def test_refine_is_drained_until_the_jobs_downstream_have_caught_up(load: Load, heard_late: bool) -> None:
    ledger, run = load(SteadyLoad(heard_late=heard_late)), context()
    with caught_up(run, STOPPED) as locked:
        assert locked.slot is not run.slot
        assert ledger.at["publish"] == ledger.at["repair"] == ledger.at["refine"] == ledger.heard
        assert is_draining(HOME)
    assert run.batch_rows == [run.settings.max_batch_rows]
    assert run.lines[0] == "waiting until repair and publish have caught up: 10 events"


def test_refine_is_drained_once_it_has_what_had_arrived_and_one_batch_is_behind(load: Load) -> None:
    ledger, run = load(SteadyLoad(backlog=3)), context()
    ledger.at |= {"ingest": 9, "refine": 8}
    with caught_up(run, STOPPED):
        assert ledger.drained_since == 5, "they follow in the fourth wait"
        assert ledger.at["refine"] >= 9


@pytest.mark.parametrize("heard_late", [False, True])
def test_rebuild_of_gold_waits_for_what_silver_has_and_drains_nothing(load: Load, heard_late: bool) -> None:
    ledger, run = load(SteadyLoad(backlog=3, heard_late=heard_late)), context()
    ledger.at |= {"ingest": 9, "refine": 8, "repair": 7}
    wait_for_publish(run)
    assert 8 <= ledger.at["publish"] < ledger.at["refine"]
    assert ledger.heard >= 7
    assert ledger.sequence == 4
    assert ledger.drained_since is None


def test_rebuild_of_gold_does_not_wait_once_it_is_stopped_or_publish_has_caught_up(load: Load) -> None:
    ledger, run = load(SteadyLoad()), context()
    run.stop.set()
    wait_for_publish(run)
    ledger.at, ledger.heard = dict.fromkeys(ledger.at, 1), 1
    wait_for_publish(context())
    assert ledger.sequence == 0


class Lagging(SteadyLoad):
    """A ledger whose jobs stay more than a micro-batch behind refine, unless they are drained."""

    def wait(self, sequence: int, seconds: float, stop: threading.Event) -> None:
        behind = dict.fromkeys(("repair", "publish"), self.at["refine"] - 5)
        super().wait(sequence, seconds, stop)
        if self.drained_since is None:
            self.at |= behind


def test_refine_is_drained_after_a_quarter_of_an_hour_in_any_case(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = load(Lagging())
    ledger.at |= {"ingest": 9, "refine": 8}
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: 60.0 * ledger.sequence))
    with caught_up(context(), STOPPED):
        assert ledger.drained_since == 17


def test_erasure_starts_over_no_half_written_batch(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = load(SteadyLoad())
    monkeypatch.setattr(module, "_is_interrupted", lambda _run, _ledger: ledger.sequence < 20)
    with caught_up(context(), STOPPED):
        assert ledger.sequence == 20


def test_jobs_that_make_no_progress_end_the_wait(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, run = load(SteadyLoad()), context()
    ledger.is_running = False
    clock = SimpleNamespace(monotonic=lambda: 60.0 * ledger.sequence)
    monkeypatch.setattr(module, "time", clock)
    with pytest.raises(MillraceError, match="no progress for 15 minutes"), caught_up(run, STOPPED):
        pass
    assert ledger.sequence == 16
    assert len(run.lines) == 16, "once per trigger interval, which tells a command that nobody waits any more"


def test_lines_are_logged_once_per_trigger_interval(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, run = load(SteadyLoad(backlog=24)), context()
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: 5.0 * ledger.sequence))
    with caught_up(run, STOPPED):
        assert len(run.lines) == -(-ledger.sequence // 2)


def test_stopped_job_ends_the_wait_and_refine_starts_again(load: Load) -> None:
    load(SteadyLoad())
    run = context()
    run.stop.set()
    with pytest.raises(MillraceError, match="stopped"), caught_up(run, STOPPED):
        pass
