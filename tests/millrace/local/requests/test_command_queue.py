"""Orders handed to an engine: carried out once, told about, and not waited for when nobody will."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from kit.polling import eventually
from lakehouse.entry_point import Job
from lakehouse.errors import MillraceError
from lakehouse.job import Run
from lakehouse.settings import load_settings
from millrace.local.bundle.jobs import BundleJob
from millrace.local.engine.task_runner import Worker
from millrace.local.process import home_lock, process_registry
from millrace.local.process.state_files import write_state
from millrace.local.requests.command_client import engine_runs, hand_over
from millrace.local.requests.command_queue import folder, place, waiting, who
from millrace.local.requests.command_server import serve
from millrace.local.requests.engine_commands import REBUILD, Order

ORDER = Order(REBUILD, ["silver.events"])
DEAD = {"pid": 2**22 + 1, "created": 1.0}  # beyond what the kernel gives


class Engine:
    """The engine's side on a thread, without Spark: an order is carried out by `body`."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.settings = load_settings(home=home)
        self.body: Callable[[Any], None] = lambda run: None
        self.stop = threading.Event()
        spark = SimpleNamespace(newSession=lambda: SimpleNamespace(conf=SimpleNamespace(set=lambda *_: None)))
        application: Any = SimpleNamespace(spark=spark, share_fairly=lambda _: None, has_ended=lambda: False)
        monkeypatch.setattr(Order, "jobs", lambda order: [BundleJob.of(Job(order.command, self.do))])
        self.tell("running")
        worker = Worker(application, self.settings, self.stop)
        self.thread = threading.Thread(target=serve, args=(worker,), daemon=True)
        self.thread.start()

    def do(self, run: Run) -> None:
        self.body(run)

    def tell(self, state: str) -> None:
        write_state(self.settings.home / "run" / "engine.json", {**who(), "state": state})


@pytest.fixture
def engine(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    engine = Engine(home, monkeypatch)
    yield engine
    engine.stop.set()
    engine.thread.join(10)


def left(engine: Engine) -> list[Path]:
    return list(folder(engine.settings.home).iterdir())


def test_an_order_is_carried_out_and_told_about(engine: Engine) -> None:
    told: list[str] = []

    def body(run: Run) -> None:
        run.say("first")
        run.advance(1200, 0.5)

    engine.body = body
    hand_over(engine.settings, ORDER, told.append)
    hand_over(engine.settings, ORDER, told.append)
    assert told == ["rebuild: first", "rebuild: batch of 1,200 rows in 0.5 s"] * 2
    assert left(engine) == []


def test_what_goes_wrong_is_told_in_one_line_and_the_engine_goes_on(engine: Engine) -> None:
    def refuse(run: Run) -> None:
        raise MillraceError("no such table", "Try another")

    def fail(run: Run) -> None:
        raise ValueError("a\nb")

    engine.body = refuse
    with pytest.raises(MillraceError, match=r"^no such table. Try another.$"):
        hand_over(engine.settings, ORDER, lambda _: None)
    engine.body = fail
    with pytest.raises(MillraceError, match=r"it failed in the engine: a b\. See .*engine\.log"):
        hand_over(engine.settings, ORDER, lambda _: None)
    engine.body = lambda run: None
    hand_over(engine.settings, ORDER, lambda _: None)


def test_an_order_that_is_withdrawn_ends_at_the_next_word(engine: Engine) -> None:
    begun, withdrawn, ended = threading.Event(), threading.Event(), threading.Event()

    def body(run: Run) -> None:
        begun.set()
        assert withdrawn.wait(10)
        try:
            run.say("next")
        finally:
            ended.set()

    engine.body = body
    errand = place(engine.settings.home, ORDER)
    assert begun.wait(10)
    errand.withdraw()
    withdrawn.set()
    assert ended.wait(10)
    engine.body = lambda run: None
    hand_over(engine.settings, ORDER, lambda _: None)
    assert left(engine) == []


def test_an_engine_that_dies_over_an_order_is_noticed(home: Path) -> None:
    settings = load_settings(home=home)
    write_state(home / "run" / "engine.json", {**who(), "state": "running"})

    def die() -> None:
        errand = eventually(lambda: next(waiting(home), None), what="the order")
        errand.answer.write_text(f'{{"pid": {DEAD["pid"]}, "created": 1.0}}\n{{"line": "half w')

    dying = threading.Thread(target=die)
    dying.start()
    with pytest.raises(MillraceError, match="the engine ended before it was done"):
        hand_over(settings, ORDER, lambda _: None)
    dying.join(10)
    assert list(folder(home).iterdir()) == []


def test_nobody_waits_for_an_engine_that_is_not_there(home: Path) -> None:
    settings = load_settings(home=home)
    assert not engine_runs(settings)
    write_state(home / "run" / "engine.json", {**DEAD, "state": "running"})
    assert not engine_runs(settings)
    with pytest.raises(MillraceError, match="the engine ended"):
        hand_over(settings, ORDER, lambda _: None)


def test_a_workspace_that_is_starting_takes_orders(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load_settings(home=home)
    monkeypatch.setenv("MILLRACE_HOME", str(home))
    monkeypatch.setenv("MILLRACE_PROCESS", home_lock.SUPERVISOR)
    monkeypatch.setattr(process_registry, "running", lambda *_: psutil.Process())
    write_state(home / "run" / "workspace.json", {"processes": {"broker": {}}})
    assert not engine_runs(settings)
    write_state(home / "run" / "workspace.json", {"processes": {"broker": {}, "engine": {}}})
    assert engine_runs(settings)


def test_what_the_dead_have_left_is_removed_and_not_carried_out(home: Path) -> None:
    ours = place(home, ORDER)
    write_state(folder(home) / "1-1.json", {"command": "rebuild", "names": ["silver.events"], **DEAD})
    (folder(home) / "2-2.answer").write_text("{}\n")
    assert list(waiting(home)) == [ours]
    ours.answer.write_text("{}\n")  # taken
    assert list(waiting(home)) == []
    assert sorted(folder(home).iterdir()) == sorted([ours.file, ours.answer])
