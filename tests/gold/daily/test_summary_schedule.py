"""When summaries are brought up to date, without Spark: on a clock of its own."""

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gold.daily import summary_schedule
from gold.daily.summary_schedule import SummarySchedule
from kit.records import NOON

INTERVAL = 20.0  # seconds


class Clock:
    """Goes on by what summing up takes."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.started: list[float] = []
        self.prepared = 0
        self.order: list[object] = []

    def monotonic(self) -> float:
        return self.now

    def prepare(self) -> None:
        self.prepared += 1

    def work(self, seconds: float) -> None:
        self.order.append("windows")
        self.started.append(self.now)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(summary_schedule, "time", clock)
    return clock


def taking(seconds: float, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> SummarySchedule:
    """Summaries of which windows take so long, and days no time."""
    lake = SimpleNamespace(last_commit=lambda _table: {})
    settings = SimpleNamespace(
        conf=Path("conf"),
        business_time_zone="UTC",
        reporting_currency="EUR",
        summary_interval=timedelta(seconds=INTERVAL),
    )
    run: Any = SimpleNamespace(lake=lake, settings=settings, tune_for_scan=clock.prepare)
    parts = [(summary_schedule.Traffic, "update"), (SummarySchedule, "_sum_days")]
    for of, name in parts:
        work = clock.work if name == "update" else lambda _seconds: clock.order.append("days")
        monkeypatch.setattr(of, name, lambda *_, work=work: work(seconds))
    return SummarySchedule(run)


def started(clock: Clock, todo: SummarySchedule, under_load: bool, until: float) -> list[float]:
    """When they were begun, something new being there every second, in seconds from the first time."""
    while clock.now < until:
        todo.mark_stale(NOON, NOON)
        todo.update(under_load=under_load)
        clock.now += 1
    return [at - clock.started[0] for at in clock.started]


@pytest.mark.parametrize(
    ("seconds", "under_load", "pause"),
    [(4.0, False, INTERVAL), (1.0, True, INTERVAL), (4.0, True, 80.0)],
)
def test_summaries_take_a_twentieth_of_the_time_from_other_work(
    seconds, under_load, pause, clock, monkeypatch
):
    starts = started(clock, taking(seconds, clock, monkeypatch), under_load, until=1200)
    assert starts == [number * pause for number in range(len(starts))]
    assert len(starts) == -(-200 // int(pause))


def test_what_has_to_be_done_now_does_not_wait(clock, monkeypatch):
    todo = taking(4.0, clock, monkeypatch)
    for _ in range(2):
        todo.mark_stale(NOON, NOON)
        todo.update(now=True)
    assert clock.started == [1000.0, 1004.0]


def test_summing_up_is_prepared_for_and_nothing_to_do_is_not(clock, monkeypatch):
    todo = taking(4.0, clock, monkeypatch)
    todo.update(now=True)
    assert clock.prepared == 0
    todo.mark_stale(NOON, NOON)
    todo.update(now=True)
    assert clock.prepared == 1


def test_nothing_new_is_nothing_to_do(clock, monkeypatch):
    todo = taking(4.0, clock, monkeypatch)
    todo.update(now=True)
    assert clock.started == []


def test_windows_are_written_last_for_pages_read_as_of_their_position(clock, monkeypatch):
    todo = taking(4.0, clock, monkeypatch)
    todo.mark_stale(NOON, NOON)
    todo.update(now=True)
    assert clock.order == ["days", "windows"]
