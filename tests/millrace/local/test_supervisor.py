"""The supervisor: ended services are restarted, and stopped ones leave no process behind."""

import os
import re
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from kit import stub_workspace
from kit.polling import eventually
from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings
from millrace.local import foreground
from millrace.local.launch import end
from millrace.local.plan import Plan
from millrace.local.process import process_registry
from millrace.local.process.child_process import Child, Program
from millrace.local.process.home_lock import supervisor_pid
from millrace.local.process.service_runner import BackOff
from millrace.local.process.state_files import read_state


def test_back_off_doubles_from_one_second_to_its_limit():
    pauses = [BackOff().pause(failures) for failures in range(1, 9)]
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    assert BackOff(limit=timedelta(seconds=5)).pause(10_000) == 5


def test_killed_service_is_restarted(home):
    supervisor = start(home, "calm")
    first = running(home, "calm")
    os.kill(first, signal.SIGKILL)
    second = eventually(lambda: (pid := running(home, "calm")) != first and pid)
    assert state(home, "calm")["restarts"] == 1
    assert "killed by SIGKILL" in state(home, "calm")["last_error"]
    assert supervisor.stop(10)
    assert not psutil.pid_exists(second)
    assert read_state(home / "run" / "workspace.json")["state"] == "stopped"


def test_failing_service_backs_off_and_reports_its_error(home):
    start(home, "broken")
    log = home / "logs" / "supervisor.log"
    eventually(lambda: state(home, "broken").get("restarts", 0) >= 4)
    assert "RuntimeError: no luck" in state(home, "broken")["last_error"]
    reported = re.findall(r"broken: (starting|backing off)", log.read_text())
    assert reported[:6] == ["starting", "backing off"] * 3


def test_services_start_after_and_stop_before_their_dependencies(home):
    supervisor = start(home, "calm", "short")
    eventually(lambda: state(home, "short").get("state") == "done")
    assert running(home, "calm")
    supervisor.stop(10)
    reported = re.findall(
        r"(\w+): (starting|running|done|stopped)", (home / "logs/supervisor.log").read_text()
    )
    assert reported.index(("calm", "running")) < reported.index(("short", "starting"))
    assert reported.index(("short", "stopped")) < reported.index(("calm", "stopped"))


@pytest.mark.long
def test_hanging_service_and_its_children_end_within_ten_seconds(home):
    supervisor = start(home, "calm", "stubborn")
    pids = [running(home, "calm"), running(home, "stubborn"), grandchild(home)]
    started = time.monotonic()
    os.kill(supervisor.pid, signal.SIGINT)
    eventually(lambda: supervisor.exit_code is not None, seconds=10)
    assert time.monotonic() - started < 10
    assert not [pid for pid in pids if is_alive(pid)]


def test_hanging_process_and_its_children_are_killed_after_grace_period(home):
    command = (sys.executable, "-c", stub_workspace.PROGRAMS["stubborn"], str(home / "stubborn.ready"))
    child = Child(Program("stubborn", command, home, grace=0.3))
    below = grandchild(home)
    assert not child.stop()
    eventually(lambda: not is_alive(child.pid) and not is_alive(below), seconds=5)


def test_services_of_killed_supervisor_end_and_hanging_orphans_are_killed(home):
    supervisor = start(home, "calm", "stubborn")
    calm, hanging, below = running(home, "calm"), running(home, "stubborn"), grandchild(home)
    os.kill(supervisor.pid, signal.SIGKILL)
    eventually(lambda: supervisor.exit_code is not None)  # before that, it may or may not count as an orphan
    eventually(lambda: not is_alive(calm), what="the calm one ends with its parent")
    assert is_alive(hanging)
    assert is_alive(below)
    assert process_registry.kill_orphans(home, seconds=0.2) == ["stubborn"]
    eventually(lambda: not is_alive(hanging) and not is_alive(below), what="what hung has ended")


def test_second_supervisor_of_home_is_rejected(home):
    supervisor = start(home, "calm")
    pid = running(home, "calm")
    second = subprocess.run(command(home, "calm"), capture_output=True, text=True, check=False, timeout=30)
    assert second.returncode != 0
    assert f"already running in {home} (pid {supervisor.pid})" in second.stderr
    assert running(home, "calm") == pid


def test_workspace_started_at_the_same_moment_leaves_the_first_one_alone(home, monkeypatch):
    first = start(home, "calm")
    calm = running(home, "calm")

    def launch_late(*_: object, **__: object) -> Child:
        return Child(Program("supervisor", command(home, "calm"), home))  # the lock was free a moment ago

    monkeypatch.setattr(foreground, "launch", launch_late)
    with pytest.raises(MillraceError, match=f"already running in {home} \\(pid {first.pid}\\)"):
        foreground.run_in_foreground(load_settings(home=home), Plan())
    assert supervisor_pid(home) == first.pid
    assert is_alive(calm)
    assert end(load_settings(home=home)) == ["calm", "supervisor"]
    eventually(lambda: first.exit_code is not None and not is_alive(calm))


@pytest.mark.parametrize("wrong", ["created", "home", "name"])
def test_process_that_differs_from_registered_one_is_not_killed(home, wrong):
    marks = process_registry.env_marks(home, "innocent")
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env={**os.environ, **marks}
    ) as it:
        known = process_registry.register(home, "innocent", it.pid)
        false = {"created": known.created - 100, "home": str(home.parent), "name": "guilty"}
        forged = {**vars(known), wrong: false[wrong]}
        process_registry.unregister(home, known)
        process_registry.write_state(home / "run" / "processes" / "innocent.json", forged)
        assert process_registry.kill_orphans(home, seconds=0.2) == []
        assert it.poll() is None
        it.communicate(b"\n")


def test_large_log_is_rotated_at_next_start(home):
    program = Program("noisy", (sys.executable, "-c", "print('new')"), home)
    program.log.parent.mkdir()
    program.log.write_bytes(b"old\n" * 2_000_000)
    child = Child(program)
    eventually(lambda: child.exit_code is not None)
    child.stop()
    assert program.log.read_text() == "new\n"
    assert program.log.with_name("noisy.log.1").stat().st_size == 8_000_000


def command(home: Path, *names: str) -> tuple[str, ...]:
    return (sys.executable, stub_workspace.__file__, str(home), *names)


def start(home: Path, *names: str) -> Child:
    supervisor = Child(Program("supervisor", command(home, *names), home))
    eventually(lambda: all(state(home, name).get("state", "waiting") != "waiting" for name in names[:1]))
    return supervisor


def state(home: Path, name: str) -> dict:
    return read_state(home / "run" / "workspace.json").get("processes", {}).get(name, {})


def running(home: Path, name: str) -> int:
    reported = eventually(lambda: (reported := state(home, name)).get("state") == "running" and reported)
    return int(reported["pid"])


def grandchild(home: Path) -> int:
    file = home / "stubborn.ready.child"
    return int(eventually(lambda: file.exists() and file.read_text()))


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
