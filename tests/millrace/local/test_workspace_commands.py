"""`millrace up`, `status` and `down` with a real broker, killed and started again."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from kit.polling import eventually
from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings
from millrace.local.kafka.kafka_health import cluster_id, require_kafka
from millrace.local.process import process_registry
from millrace.local.process.home_lock import supervisor_pid
from millrace.local.process.ports import free_port


@dataclass
class Workspace:
    home: Path
    port: int

    @property
    def env(self) -> dict[str, str]:
        ours = {"MILLRACE_HOME": str(self.home), "MILLRACE_BROKER_PORT": str(self.port)}
        return {**os.environ, **ours, "PYTHONUNBUFFERED": "1"}

    @property
    def kafka(self) -> str | None:
        return cluster_id(f"127.0.0.1:{self.port}", seconds=1)

    def run(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        command = (sys.executable, "-m", "millrace", *arguments)
        return subprocess.run(
            command, env={**self.env, **env}, capture_output=True, text=True, check=False, timeout=90
        )


@pytest.fixture
def workspace(home: Path) -> Workspace:
    return Workspace(home, free_port())


def test_home_has_one_workspace_that_restarts_after_kill_of_supervisor(workspace):
    started = workspace.run("up", "--broker")
    assert started.returncode == 0, started.stderr
    assert f"127.0.0.1:{workspace.port}" in started.stdout
    first = supervisor_pid(workspace.home)
    identity = workspace.kafka

    again = workspace.run("up", "--broker")
    assert again.returncode == 1
    (line,) = again.stderr.splitlines()
    assert f"already running in {workspace.home} (pid {first})" in line
    assert "millrace down" in line
    assert workspace.kafka == identity

    refused = workspace.run("reset", "--yes")
    assert refused.returncode == 1
    assert "already running" in refused.stderr

    os.kill(first, signal.SIGKILL)
    stays = subprocess.Popen(
        (sys.executable, "-m", "millrace", "up", "--broker", "--foreground"),
        env=workspace.env,
        stdout=subprocess.PIPE,
        text=True,
    )
    with stays:
        assert any("Ctrl-C" in line for line in stays.stdout)
        assert workspace.kafka == identity
        assert supervisor_pid(workspace.home) not in (None, first)
        started = time.monotonic()
        stays.send_signal(signal.SIGINT)
        assert stays.wait(10) == 0
        assert time.monotonic() - started < 10
    assert not [record for record in process_registry.registered(workspace.home) if record.group()]
    assert workspace.kafka is None


def test_down_without_running_workspace_succeeds(workspace):
    done = workspace.run("down")
    assert done.returncode == 0
    assert done.stdout == f"Nothing runs in {workspace.home}.\n"


def test_taken_broker_port_is_one_line_error_and_starts_nothing(workspace):
    listen = f"import socket; s = socket.create_server(('127.0.0.1', {workspace.port})); input()"
    with subprocess.Popen((sys.executable, "-c", listen), stdin=subprocess.PIPE) as other:
        eventually(lambda: process_registry.psutil.Process(other.pid).net_connections())
        refused = workspace.run("up", "--broker")
        assert other.poll() is None
        other.communicate(b"\n")
    assert refused.returncode == 1
    (line,) = refused.stderr.splitlines()
    assert f"port {workspace.port}, for the broker, is taken by python" in line
    assert f"(pid {other.pid})" in line
    assert "MILLRACE_BROKER_PORT=" in line
    assert supervisor_pid(workspace.home) is None
    assert "it last failed: port" in " ".join(status(workspace)["notes"])


def test_unreachable_external_kafka_is_reported(workspace):
    with pytest.raises(MillraceError, match=rf"no Kafka answers at 127.0.0.1:{workspace.port}"):
        require_kafka(load_settings(kafka_bootstrap=f"127.0.0.1:{workspace.port}"), seconds=0.1)


def status(workspace: Workspace) -> dict:
    return json.loads(workspace.run("status", "--json").stdout)
