"""Command requests to an engine: executed once, reported, and not waited for if no engine runs."""

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
from lakehouse.run.job import JobContext
from lakehouse.settings import load_settings
from millrace.local.bundle.jobs import BundleJob
from millrace.local.engine.task_runner import TaskRunner
from millrace.local.process import home_lock, process_registry
from millrace.local.process.state_files import write_state
from millrace.local.requests.command_client import engine_runs, execute_in_engine
from millrace.local.requests.command_queue import pending, process_identity, queue_folder, submit
from millrace.local.requests.command_server import serve
from millrace.local.requests.engine_commands import REBUILD, EngineCommand

COMMAND = EngineCommand(REBUILD, ["silver.events"])
DEAD = {"pid": 2**22 + 1, "created": 1.0}  # beyond what the kernel gives


class Engine:
    """The engine's side on a thread, without Spark: a command is executed by `body`."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.settings = load_settings(home=home)
        self.body: Callable[[Any], None] = lambda run: None
        self.stop = threading.Event()
        spark = SimpleNamespace(newSession=lambda: SimpleNamespace(conf=SimpleNamespace(set=lambda *_: None)))
        application: Any = SimpleNamespace(
            spark=spark, use_scheduler_pool=lambda _: None, has_ended=lambda: False
        )
        monkeypatch.setattr(
            EngineCommand, "jobs", lambda command: [BundleJob.of(Job(command.command, self.do))]
        )
        self.report("running")
        tasks = TaskRunner(application, self.settings, self.stop)
        self.thread = threading.Thread(target=serve, args=(tasks,), daemon=True)
        self.thread.start()

    def do(self, run: JobContext) -> None:
        self.body(run)

    def report(self, state: str) -> None:
        write_state(self.settings.home / "run" / "engine.json", {**process_identity(), "state": state})


@pytest.fixture
def engine(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    engine = Engine(home, monkeypatch)
    yield engine
    engine.stop.set()
    engine.thread.join(10)


def left(engine: Engine) -> list[Path]:
    return list(queue_folder(engine.settings.home).iterdir())


def test_command_is_executed_and_its_progress_reported(engine: Engine) -> None:
    lines: list[str] = []

    def body(run: JobContext) -> None:
        run.log("first")
        run.report_batch(1200, 0.5)

    engine.body = body
    execute_in_engine(engine.settings, COMMAND, lines.append)
    execute_in_engine(engine.settings, COMMAND, lines.append)
    assert lines == ["rebuild: first", "rebuild: batch of 1,200 rows in 0.5 s"] * 2
    assert left(engine) == []


def test_failure_is_reported_in_one_line_and_the_engine_goes_on(engine: Engine) -> None:
    def refuse(run: JobContext) -> None:
        raise MillraceError("no such table", "Try another")

    def fail(run: JobContext) -> None:
        raise ValueError("a\nb")

    engine.body = refuse
    with pytest.raises(MillraceError, match=r"^no such table. Try another.$"):
        execute_in_engine(engine.settings, COMMAND, lambda _: None)
    engine.body = fail
    with pytest.raises(MillraceError, match=r"it failed in the engine: a b\. See .*engine\.log"):
        execute_in_engine(engine.settings, COMMAND, lambda _: None)
    engine.body = lambda run: None
    execute_in_engine(engine.settings, COMMAND, lambda _: None)


def test_cancelled_command_ends_at_the_next_log_line(engine: Engine) -> None:
    started, cancelled, ended = threading.Event(), threading.Event(), threading.Event()

    def body(run: JobContext) -> None:
        started.set()
        assert cancelled.wait(10)
        try:
            run.log("next")
        finally:
            ended.set()

    engine.body = body
    request = submit(engine.settings.home, COMMAND)
    assert started.wait(10)
    request.cancel()
    cancelled.set()
    assert ended.wait(10)
    engine.body = lambda run: None
    execute_in_engine(engine.settings, COMMAND, lambda _: None)
    assert left(engine) == []


def test_engine_that_dies_over_a_command_is_noticed(home: Path) -> None:
    settings = load_settings(home=home)
    write_state(home / "run" / "engine.json", {**process_identity(), "state": "running"})

    def die() -> None:
        request = eventually(lambda: next(pending(home), None), what="the request")
        request.reply.write_text(f'{{"pid": {DEAD["pid"]}, "created": 1.0}}\n{{"line": "half w')

    dying = threading.Thread(target=die)
    dying.start()
    with pytest.raises(MillraceError, match="the engine ended before it was done"):
        execute_in_engine(settings, COMMAND, lambda _: None)
    dying.join(10)
    assert list(queue_folder(home).iterdir()) == []


def test_no_command_waits_without_an_engine(home: Path) -> None:
    settings = load_settings(home=home)
    assert not engine_runs(settings)
    write_state(home / "run" / "engine.json", {**DEAD, "state": "running"})
    assert not engine_runs(settings)
    with pytest.raises(MillraceError, match="the engine ended"):
        execute_in_engine(settings, COMMAND, lambda _: None)


def test_starting_workspace_accepts_commands(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load_settings(home=home)
    monkeypatch.setenv("MILLRACE_HOME", str(home))
    monkeypatch.setenv("MILLRACE_PROCESS", home_lock.SUPERVISOR)
    monkeypatch.setattr(process_registry, "running", lambda *_: psutil.Process())
    write_state(home / "run" / "workspace.json", {"processes": {"broker": {}}})
    assert not engine_runs(settings)
    write_state(home / "run" / "workspace.json", {"processes": {"broker": {}, "engine": {}}})
    assert engine_runs(settings)


def test_requests_of_dead_processes_are_removed_and_not_executed(home: Path) -> None:
    ours = submit(home, COMMAND)
    write_state(queue_folder(home) / "1-1.json", {"command": "rebuild", "names": ["silver.events"], **DEAD})
    (queue_folder(home) / "2-2.reply").write_text("{}\n")
    assert list(pending(home)) == [ours]
    ours.reply.write_text("{}\n")  # accepted
    assert list(pending(home)) == []
    assert sorted(queue_folder(home).iterdir()) == sorted([ours.file, ours.reply])
