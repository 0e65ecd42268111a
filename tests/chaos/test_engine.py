"""The engine of a running workspace is killed: the supervisor restarts it, and its jobs continue."""

import subprocess
from collections.abc import Callable, Iterator

import polars as pl
import psutil
import pytest

from kit.home import JOBS, ROOT, Home, command
from kit.polling import eventually
from kit.processes import assert_nothing_runs
from kit.tables import commits, deterministic_columns, folder
from millrace.local.process import process_registry
from millrace.local.process.ports import stable_port

REBUILT = ("silver.events", "silver.sessions")
TIMEOUT = 900  # seconds, on a busy machine: after each start, first micro-batches take longest


@pytest.fixture
def workspace(new_home: Callable[..., Home]) -> Iterator[Home]:
    """A home whose workspace runs, on the shared broker."""
    home = new_home(MILLRACE_DASHBOARD_PORT=str(stable_port()), MILLRACE_TRIGGER_INTERVAL="PT1S")
    home.must("produce", "--events", "1000", "--seed", "1")
    home.must("up")
    yield home
    home.must("down")
    assert_nothing_runs(home.path, seconds=1)


def engine(home: Home) -> psutil.Process | None:
    return process_registry.running(home.path, "engine")


def published(home: Home) -> int:
    """The number of records that publish has processed."""
    if not commits(home, "ops.ledger"):
        return 0
    ledger = pl.scan_delta(folder(home, "ops.ledger")).filter(pl.col("job") == JOBS[-1])
    return int(ledger.select(pl.col("input_rows").sum()).collect().item())


def test_engine_restarts_after_its_java_process_is_killed(workspace: Home) -> None:
    eventually(lambda: published(workspace) == 1000, TIMEOUT, "the first events are in gold")
    before = engine(workspace)
    assert before is not None
    java = next(child for child in before.children() if child.name() == "java")
    java.kill()
    eventually(
        lambda: not before.is_running() or before.status() == psutil.STATUS_ZOMBIE,
        10,
        "the engine has noticed",
    )
    workspace.must("produce", "--events", "1000", "--seed", "2")
    eventually(lambda: published(workspace) == 2000, TIMEOUT, "the next events are in gold")
    after = engine(workspace)
    assert after is not None
    assert after.pid != before.pid
    workspace.must("audit")
    log = (workspace.path / "logs" / "engine.log").read_text()
    assert "ERROR Spark's Java process ended while the jobs ran" in log
    assert "Traceback" not in log


def test_commands_run_in_the_engine_and_fail_cleanly_when_its_java_dies(workspace: Home) -> None:
    eventually(lambda: engine(workspace) is not None, TIMEOUT, "the engine runs")
    caught_up = workspace.run("run", *JOBS, "--once")
    assert caught_up.returncode == 0, caught_up.stderr
    assert [line for line in caught_up.stderr.splitlines() if "caught up" in line] == [
        f"{job}: caught up" for job in JOBS
    ]
    assert published(workspace) == 1000
    before = {name: deterministic_columns(workspace, name) for name in REBUILT}
    workspace.must("rebuild", *REBUILT)
    assert {name: deterministic_columns(workspace, name) for name in REBUILT} == before

    running = engine(workspace)
    assert running is not None
    java = next(child for child in running.children() if child.name() == "java")
    rebuilding = subprocess.Popen(
        command("rebuild", *REBUILT), env=workspace.env, cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    with rebuilding:
        assert rebuilding.stderr is not None
        assert any("silver.events: computing" in line for line in rebuilding.stderr)
        java.kill()
        *_, line = rebuilding.stderr
    assert rebuilding.returncode == 1
    assert line.startswith(("millrace: Spark's Java process ended", "millrace: the engine ended"))
    assert {name: deterministic_columns(workspace, name) for name in REBUILT} == before
    workspace.must("rebuild", *REBUILT)
    assert {name: deterministic_columns(workspace, name) for name in REBUILT} == before
    workspace.must("audit")
