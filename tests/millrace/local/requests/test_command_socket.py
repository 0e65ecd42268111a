"""Command requests to an engine: executed once, reported, and not waited for if no engine runs."""

import json
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection
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
from millrace.local.process.process_registry import process_identity
from millrace.local.process.state_files import read_state, write_state
from millrace.local.requests import command_server, command_socket
from millrace.local.requests.command_client import engine_runs, execute_in_engine
from millrace.local.requests.command_server import serve
from millrace.local.requests.command_socket import accept_requests, connect
from millrace.local.requests.engine_commands import REBUILD, EngineCommand

COMMAND = EngineCommand(REBUILD, ["silver.events"])
DEAD = {"pid": 2**22 + 1, "created": 1.0}  # above the largest process id


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
        monkeypatch.setattr(command_socket, "_POLL_SECONDS", 0.05)
        monkeypatch.setattr(command_server, "_RETRY_SECONDS", 0.05)
        report_running(home)
        tasks = TaskRunner(application, self.settings, self.stop)
        self.thread = threading.Thread(target=serve, args=(tasks,), daemon=True)
        self.thread.start()

    def do(self, run: JobContext) -> None:
        self.body(run)

    def end(self) -> None:
        self.stop.set()
        self.thread.join(10)
        assert not self.thread.is_alive()


@pytest.fixture
def engine(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    engine = Engine(home, monkeypatch)
    yield engine
    engine.end()


def report_running(home: Path) -> None:
    """Write the state of a running engine, with this process as the engine."""
    write_state(home / "run" / "engine.json", {**process_identity(), "state": "running"})


def socket_of(home: Path) -> Path:
    """Path of the engine's socket."""
    state = eventually(lambda: read_state(home / "run" / "commands.json"), what="the socket")
    return Path(state["socket"])


def submit(home: Path) -> Connection:
    """Request the command, without waiting for the reply."""
    socket_of(home)
    connection = connect(home)
    connection.send_bytes(json.dumps(vars(COMMAND)).encode())
    return connection


def test_command_is_executed_and_its_progress_reported(engine: Engine) -> None:
    lines: list[str] = []

    def body(run: JobContext) -> None:
        run.log("first")
        run.report_batch(1200, 0.5)

    engine.body = body
    execute_in_engine(engine.settings, COMMAND, lines.append)
    execute_in_engine(engine.settings, COMMAND, lines.append)
    assert lines == ["rebuild: first", "rebuild: batch of 1,200 rows in 0.5 s"] * 2


def test_failure_is_reported_in_one_line_and_engine_continues(engine: Engine) -> None:
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


def test_interrupted_command_ends_at_the_next_log_line(engine: Engine) -> None:
    interrupted, ended = threading.Event(), threading.Event()

    def body(run: JobContext) -> None:
        run.log("first")
        assert interrupted.wait(10)
        with pytest.raises(MillraceError, match="rebuild was cancelled"):
            run.log("next")
        ended.set()

    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    engine.body = body
    with pytest.raises(KeyboardInterrupt):
        execute_in_engine(engine.settings, COMMAND, interrupt)
    interrupted.set()
    assert ended.wait(10)
    engine.body = lambda run: None
    execute_in_engine(engine.settings, COMMAND, lambda _: None)


def test_command_cancelled_while_queued_is_not_executed(engine: Engine) -> None:
    started, cancelled, executed = threading.Event(), threading.Event(), []

    def body(run: JobContext) -> None:
        executed.append(run)
        started.set()
        assert cancelled.wait(10)

    engine.body = body
    with submit(engine.settings.home):
        assert started.wait(10)
        submit(engine.settings.home).close()
        cancelled.set()
        execute_in_engine(engine.settings, COMMAND, lambda _: None)
    assert len(executed) == 2


def test_suspended_client_does_not_block_the_job_and_gets_every_line(engine: Engine) -> None:
    logged = threading.Event()
    lines = [f"rebuild: {number}" for number in range(5000)]

    def body(run: JobContext) -> None:
        for number in range(len(lines)):
            run.log(str(number))
        logged.set()

    engine.body = body
    with submit(engine.settings.home) as connection:
        assert logged.wait(10)
        replies = [json.loads(connection.recv_bytes())]
        while "done" not in replies[-1]:
            replies.append(json.loads(connection.recv_bytes()))
    assert [line for reply in replies for line in reply["lines"]] == lines


def test_end_of_engine_during_command_is_reported(home: Path) -> None:
    """A command that has not started waits for the next engine; one that has is not repeated."""
    report_running(home)
    stop, is_started = threading.Event(), [False, True]

    def end() -> None:
        for connection, _ in accept_requests(home, stop):
            if is_started.pop(0):
                connection.send_bytes(b'{"lines": ["half way"]}')
            connection.close()

    ending = threading.Thread(target=end)
    ending.start()
    lines: list[str] = []
    with pytest.raises(MillraceError, match="the engine ended before it was done"):
        execute_in_engine(load_settings(home=home), COMMAND, lines.append)
    stop.set()
    ending.join(10)
    assert (lines, is_started) == (["half way"], [])


def test_next_engine_replaces_socket_of_killed_engine(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = f"""
import pathlib, threading
from millrace.local.requests.command_socket import accept_requests
next(accept_requests(pathlib.Path({str(home)!r}), threading.Event()))
"""
    with subprocess.Popen((sys.executable, "-c", code)) as killed:
        stale = socket_of(home)
        killed.kill()
    assert stale.is_socket()
    with pytest.raises(ConnectionRefusedError):
        connect(home)
    with pytest.raises(MillraceError, match="the engine ended"):
        execute_in_engine(load_settings(home=home), COMMAND, lambda _: None)
    engine = Engine(home, monkeypatch)
    execute_in_engine(engine.settings, COMMAND, lambda _: None)
    assert not stale.parent.exists()
    ours = socket_of(home)
    engine.end()
    assert not ours.parent.exists()


def test_client_that_does_not_end_its_handshake_blocks_no_other(engine: Engine) -> None:
    address = str(socket_of(engine.settings.home))
    with Connection(descriptor_of(address)) as silent, Connection(descriptor_of(address)) as cut:
        assert silent.poll(5), "the challenge"
        cut.recv_bytes()
        cut.send_bytes(b"no answer")
        execute_in_engine(engine.settings, COMMAND, lambda _: None)


def descriptor_of(address: str) -> int:
    """The descriptor of a connection to a socket."""
    opened = socket.socket(socket.AF_UNIX)
    opened.connect(address)
    return opened.detach()


def test_only_user_of_engine_can_connect(engine: Engine) -> None:
    socket = socket_of(engine.settings.home)
    assert stat.S_IMODE((engine.settings.home / "run" / "commands.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
    with pytest.raises(AuthenticationError):
        Client(str(socket), "AF_UNIX", b"another key")
    execute_in_engine(engine.settings, COMMAND, lambda _: None)


def test_commands_work_in_homes_with_paths_too_long_for_sockets(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = home.joinpath(*["a folder of many letters"] * 5)
    deep.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    engine = Engine(deep, monkeypatch)
    execute_in_engine(engine.settings, COMMAND, lambda _: None)
    engine.end()


def test_command_of_a_copied_home_is_not_executed_by_the_original_engine(
    engine: Engine, tmp_path: Path
) -> None:
    socket_of(engine.settings.home)
    copy = shutil.copytree(engine.settings.home, tmp_path / "copy")
    with pytest.raises(FileNotFoundError, match="is a copy of"):
        connect(copy)


def test_command_without_engine_fails(home: Path) -> None:
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
