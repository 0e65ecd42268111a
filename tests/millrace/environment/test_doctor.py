"""`millrace doctor`: checks of this machine, also with a port that is really taken."""

import socket
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lakehouse.settings import Settings, load_settings
from millrace.cli import app, register_commands
from millrace.environment import hardware, installation
from millrace.environment.check import CheckResult
from millrace.environment.doctor import examine


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port of 127.0.0.1 on which this process listens."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def settings(tmp_path: Path, **flags: object) -> Settings:
    return load_settings(home=tmp_path / "home", **flags)


def test_doctor_finds_no_failure_on_this_machine(tmp_path: Path, free_port: int) -> None:
    findings = examine(settings(tmp_path, broker_port=free_port, dashboard_port=free_port))
    assert [finding for finding in findings if finding.result is CheckResult.FAIL] == []


def test_taken_broker_port_fails_and_names_its_process(tmp_path: Path, taken_port: int) -> None:
    finding = installation.check_broker_port(settings(tmp_path, broker_port=taken_port))
    assert finding.result is CheckResult.FAIL
    assert "pid" in finding.seen
    assert "MILLRACE_BROKER_PORT=" in finding.to_do


def test_external_kafka_is_checked_instead_of_broker_port(
    tmp_path: Path, taken_port: int, free_port: int
) -> None:
    answers = settings(tmp_path, kafka_bootstrap=f"127.0.0.1:{taken_port}", broker_port=taken_port)
    silent = settings(tmp_path, kafka_bootstrap=f"127.0.0.1:{free_port}")
    assert installation.check_broker_port(answers).result is CheckResult.OK
    assert installation.check_broker_port(silent).result is CheckResult.WARN


@pytest.mark.parametrize("bootstrap", ["broker", "broker:", ":", "a:b:c"])
def test_bootstrap_address_without_port_warns(tmp_path: Path, bootstrap: str) -> None:
    finding = installation.check_broker_port(settings(tmp_path, kafka_bootstrap=bootstrap))
    assert finding.result is CheckResult.WARN


def test_missing_jars_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLRACE_CACHE", str(tmp_path))
    finding = installation.check_jars(settings(tmp_path))
    assert (finding.result, finding.to_do) == (CheckResult.FAIL, "Run `make setup`")


def test_little_memory_warns_then_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = hardware.psutil.virtual_memory()
    results = []
    for gigabytes in (8, 5, 2):
        now = memory._replace(available=gigabytes * 10**9)
        monkeypatch.setattr(hardware.psutil, "virtual_memory", lambda now=now: now)
        results.append(hardware.check_memory(settings(tmp_path)).result)
    assert results == [CheckResult.OK, CheckResult.WARN, CheckResult.FAIL]


def test_free_disk_space_is_reported_for_missing_home(tmp_path: Path) -> None:
    assert "GB free" in hardware.check_disk(settings(tmp_path / "not" / "yet")).seen


def test_package_version_other_than_locked_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "4.0.0" if name == "pyspark" else real(name))
    finding = installation.check_packages(settings(tmp_path))
    assert finding.result is CheckResult.FAIL
    assert "pyspark is 4.0.0, wanted ==4.2.0" in finding.seen


def test_tool_version_other_than_locked_warns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "0.1" if name == "pytest" else real(name))
    assert installation.check_packages(settings(tmp_path)).result is CheckResult.WARN


def test_locked_requirements_of_other_platforms_are_skipped(tmp_path: Path) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text(
        "# made by hand\n"
        "here==1.0 ; python_full_version >= '3.10' \\\n    --hash=sha256:00\n    # via there\n"
        f"elsewhere==1.0 ; sys_platform != '{sys.platform}' \\\n    --hash=sha256:00\n"
    )
    assert [pin.name for pin in installation.locked_requirements(lock)] == ["here"]


def test_doctor_exits_1_and_prints_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken_port: int
) -> None:
    monkeypatch.setenv("MILLRACE_HOME", str(tmp_path))
    monkeypatch.setenv("MILLRACE_BROKER_PORT", str(taken_port))
    register_commands()
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1
    last = result.stdout.splitlines()[-1]
    assert last.startswith("In the way: ")
    assert f"port {taken_port}" in last
