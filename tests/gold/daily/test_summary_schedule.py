"""When summaries are updated, and beside what, on a fake clock without Spark."""

import threading
from collections.abc import Callable
from contextlib import nullcontext
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gold.daily import summaries, summary_schedule
from gold.daily.summaries import Summaries
from gold.daily.summary_schedule import SummarySchedule
from kit.records import NOON

INTERVAL = 20.0  # seconds
ROWS = 70_000  # new minutes
EVENTS = 2_000_000  # of their days


class Clock:
    """A fake clock that moves on by the duration of each update."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.started: list[float] = []
        self.tuned: list[tuple[int, int]] = []
        self.order: list[object] = []
        self.has_shop_changes = False

    def monotonic(self) -> float:
        return self.now

    def tune(self, rows: int, read: int = 0, keys: int = 0) -> None:
        assert keys == rows, "persons to update are as many as new minutes"
        self.tuned.append((rows, read))

    def join(self, upto: datetime, _heard: datetime) -> None:
        self.order.append(("joined", upto))

    def work(self, seconds: float) -> None:
        self.order.append("windows")
        self.started.append(self.now)
        self.now += seconds


class Items:
    """Items that are behind while the shop has changes, and no longer after an update."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    @property
    def is_behind(self) -> bool:
        return self._clock.has_shop_changes

    def update(self, done: int, upto: datetime) -> None:
        self._clock.order.append(("items", done, upto))
        self._clock.has_shop_changes = False


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(summary_schedule, "time", clock)
    return clock


@pytest.fixture(autouse=True)
def _without_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary_schedule, "released_at_end", lambda _spark: nullcontext())


def schedule_taking(seconds: float, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> SummarySchedule:
    """A schedule whose window update takes this long and whose other updates take no time."""
    lake = SimpleNamespace(
        last_commit=lambda _table: {"sequence": 1},
        high_water_mark=lambda _table: None,
        version=lambda _table: 0,
        pinned=lambda _table: None,
    )
    settings = SimpleNamespace(
        conf=Path("conf"),
        business_time_zone="UTC",
        reporting_currency="EUR",
        summary_interval=timedelta(seconds=INTERVAL),
    )
    run: Any = SimpleNamespace(lake=lake, spark=None, settings=settings, tune_for_batch=clock.tune)
    run.in_new_session = lambda: run  # one session only, as with Spark Connect
    monkeypatch.setattr(summaries, "ConversionItems", lambda _lake: Items(clock))
    people = SimpleNamespace(
        is_stale=lambda _: False,
        update_joined=clock.join,
        update_persons=lambda *_: clock.order.append(("persons", *clock.tuned[-1])),
    )
    monkeypatch.setattr(summaries, "PersonSummaries", lambda _run: people)
    monkeypatch.setattr(summaries.Traffic, "update", lambda *_: clock.work(seconds))
    monkeypatch.setattr(summaries.Traffic, "advance", lambda _, upto: clock.order.append(("position", upto)))
    monkeypatch.setattr(summary_schedule, "_finalise", lambda *_: clock.order.append("final"))
    monkeypatch.setattr(Summaries, "_update_days", lambda *_: clock.order.append("days"))
    monkeypatch.setattr(Summaries, "_new_minutes", lambda *_: (ROWS, [NOON.date()]))
    monkeypatch.setattr(Summaries, "_days_of_costs", lambda *_: [])
    return SummarySchedule(run)


def start_times(clock: Clock, todo: SummarySchedule, under_load: bool, until: float) -> list[float]:
    """Start of each update in seconds after the first, with new data every second."""
    while clock.now < until:
        todo.mark_stale(NOON, NOON, NOON)
        todo.update(under_load=under_load)
        clock.now += 1
    return [at - clock.started[0] for at in clock.started]


@pytest.mark.parametrize(
    ("seconds", "under_load", "pause"),
    [(4.0, False, INTERVAL), (1.0, True, INTERVAL), (40.0, True, 160.0), (100.0, True, 300.0)],
)
def test_summary_pause_under_load_is_four_times_the_last_update_at_most_five_minutes(
    seconds, under_load, pause, clock, monkeypatch
):
    starts = start_times(clock, schedule_taking(seconds, clock, monkeypatch), under_load, until=1640)
    assert starts == [number * pause for number in range(len(starts))]
    assert len(starts) == -(-640 // int(pause))


def test_forced_summary_update_does_not_wait(clock, monkeypatch):
    todo = schedule_taking(4.0, clock, monkeypatch)
    for _ in range(2):
        todo.mark_stale(NOON, NOON, NOON)
        todo.update(now=True)
    assert clock.started == [1000.0, 1004.0]


def test_settings_follow_number_of_new_minutes(clock, monkeypatch):
    todo = schedule_taking(4.0, clock, monkeypatch)
    todo.update(now=True)
    assert clock.tuned == []
    todo.mark_stale(NOON, NOON, NOON)
    todo.update(now=True)
    assert clock.tuned == [(ROWS, 0)]


def test_settings_follow_number_of_events_of_the_days_while_they_are_computed(clock, monkeypatch):
    update_days = Summaries._update_days
    todo = schedule_taking(4.0, clock, monkeypatch)
    monkeypatch.setattr(Summaries, "_update_days", update_days)
    monkeypatch.setattr(summaries.DimensionLoader, "load_all", lambda *_: None)
    monkeypatch.setattr(summaries.Daily, "count_events", lambda *_: EVENTS)

    def update(_self, _days, _dimensions, _rules, _upto, events, **_):
        clock.order.append(("days", events, *clock.tuned[-1]))

    monkeypatch.setattr(summaries.Daily, "update", update)
    todo.mark_stale(NOON, NOON, NOON)
    todo.update(now=True)
    assert clock.order[1:3] == [("days", EVENTS, ROWS, EVENTS), ("persons", ROWS, 0)]


def test_summary_update_without_new_data_does_nothing(clock, monkeypatch):
    todo = schedule_taking(4.0, clock, monkeypatch)
    todo.update(now=True)
    assert clock.started == []


def test_windows_and_then_position_are_written_after_daily_tables_and_items(clock, monkeypatch):
    todo = schedule_taking(4.0, clock, monkeypatch)
    todo.mark_stale(NOON, NOON, NOON)
    todo.update(now=True)
    joined = [("items", 0, NOON), ("joined", NOON)]
    assert clock.order == ["final", "days", *joined, "windows", ("position", NOON)]


def test_items_follow_changes_of_the_shop_without_new_events(clock, monkeypatch):
    todo = schedule_taking(0.0, clock, monkeypatch)
    clock.has_shop_changes = True
    todo.update()
    assert clock.order == [], "nothing is published yet"
    todo.mark_stale(NOON, NOON, NOON)
    todo.update()
    clock.order.clear()
    for _ in range(2):
        clock.has_shop_changes = True
        todo.update()
    assert clock.order == [], "not due yet"
    clock.now += INTERVAL
    for _ in range(2):
        todo.update()
    assert clock.order == [("items", 1, NOON), ("joined", NOON), ("position", NOON)]


class Beside:
    """Summaries with a session of their own, which take until `end` is called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.versions = {"gold.touches": 7, "silver.events": 3, "gold.traffic": 1}
        self.began, self._ended = threading.Semaphore(0), threading.Semaphore(0)
        self.seen: list[list[int | None]] = []
        self.threads: list[threading.Thread] = []
        self.error: Exception | None = None
        self.properties: dict[str, str] = {}
        """Of the thread's Spark jobs."""
        context = SimpleNamespace(
            clearJobTags=lambda: None,
            setLocalProperty=lambda name, value: self.properties.update({name: value}),
        )
        lake: Any = SimpleNamespace(exclusive=lambda _name: nullcontext())
        self._own = SimpleNamespace(lake=lake, spark=SimpleNamespace(sparkContext=context))
        monkeypatch.setattr(summary_schedule, "inheritable_thread_target", lambda target: target)
        monkeypatch.setattr(summary_schedule, "Summaries", lambda _run: self)
        monkeypatch.setattr(summary_schedule, "_finalise", lambda *_: None)

    is_behind_shop = False

    def update(self, _published: object) -> None:
        self.threads.append(threading.current_thread())
        self.began.release()
        assert self._ended.acquire(timeout=10)
        self.seen.append([self._own.lake.pinned(name) for name in (*self.versions, "silver.products")])
        if self.error:
            raise self.error

    def end(self) -> None:
        self._ended.release()

    def schedule(self) -> SummarySchedule:
        pinned: Callable[[str], int | None] = {"silver.events": 3}.get
        lake = SimpleNamespace(version=lambda name: self.versions.get(name, 0), pinned=pinned)
        settings = SimpleNamespace(summary_interval=timedelta(seconds=INTERVAL))
        run: Any = SimpleNamespace(lake=lake, settings=settings, in_new_session=lambda: self._own)
        todo = SummarySchedule(run)
        todo.mark_stale(NOON, NOON, NOON)
        return todo


def test_update_beside_micro_batches_reads_what_was_published_at_its_start(monkeypatch):
    beside = Beside(monkeypatch)
    todo = beside.schedule()
    todo.update()
    assert beside.began.acquire(timeout=10)
    beside.versions["gold.touches"] = 8  # by the next micro-batch
    beside.end()
    todo.finish()
    assert beside.seen == [[7, 3, None, None]]
    assert beside.properties == {"spark.scheduler.pool": "summaries"}


def test_first_update_of_a_home_is_done_before_the_next_micro_batch(monkeypatch):
    first = Beside(monkeypatch)
    first.versions.pop("gold.traffic")
    todo = first.schedule()
    first.end()
    todo.update()
    todo.finish()
    assert first.threads == [threading.current_thread()]


def test_one_update_runs_beside_micro_batches_at_a_time(clock, monkeypatch):
    beside = Beside(monkeypatch)
    todo = beside.schedule()
    for _ in range(3):
        todo.mark_stale(NOON, NOON, NOON)
        todo.update()
        clock.now += INTERVAL
    assert beside.began.acquire(timeout=10)
    assert not beside.began.acquire(blocking=False)
    for _ in range(2):
        beside.end()
    todo.update(now=True)
    assert len(beside.seen) == 2, "the one that was running, and the one for what came later"


def test_error_of_an_update_beside_micro_batches_ends_the_job(monkeypatch):
    beside = Beside(monkeypatch)
    beside.error = ValueError("no space left")
    todo = beside.schedule()
    todo.update()
    beside.end()
    with pytest.raises(ValueError, match="no space left"):
        todo.finish()
