"""What the doctor sees, on this machine and with something really in the way."""

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
def taken() -> Iterator[int]:
    """A port of 127.0.0.1 that this very process listens on."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


@pytest.fixture
def free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def settings(tmp_path: Path, **flags: object) -> Settings:
    return load_settings(home=tmp_path / "home", **flags)


def test_a_machine_that_runs_this_is_well(tmp_path: Path, free: int) -> None:
    findings = examine(settings(tmp_path, broker_port=free, dashboard_port=free))
    assert [finding for finding in findings if finding.result is CheckResult.FAIL] == []


def test_a_taken_port_fails_and_names_who_has_it(tmp_path: Path, taken: int) -> None:
    finding = installation.check_broker_port(settings(tmp_path, broker_port=taken))
    assert finding.result is CheckResult.FAIL
    assert "pid" in finding.seen
    assert "MILLRACE_BROKER_PORT=" in finding.to_do


def test_a_kafka_of_ones_own_is_asked_instead_of_the_port(tmp_path: Path, taken: int, free: int) -> None:
    answers = settings(tmp_path, kafka_bootstrap=f"127.0.0.1:{taken}", broker_port=taken)
    silent = settings(tmp_path, kafka_bootstrap=f"127.0.0.1:{free}")
    assert installation.check_broker_port(answers).result is CheckResult.OK
    assert installation.check_broker_port(silent).result is CheckResult.WARN


@pytest.mark.parametrize("bootstrap", ["broker", "broker:", ":", "a:b:c"])
def test_an_address_without_a_port_is_a_finding(tmp_path: Path, bootstrap: str) -> None:
    finding = installation.check_broker_port(settings(tmp_path, kafka_bootstrap=bootstrap))
    assert finding.result is CheckResult.WARN


def test_missing_jars_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLRACE_CACHE", str(tmp_path))
    finding = installation.check_jars(settings(tmp_path))
    assert (finding.result, finding.to_do) == (CheckResult.FAIL, "Run `make setup`")


def test_little_memory_warns_then_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = hardware.psutil.virtual_memory()
    verdicts = []
    for gigabytes in (8, 3, 1):
        now = memory._replace(available=gigabytes * 10**9)
        monkeypatch.setattr(hardware.psutil, "virtual_memory", lambda now=now: now)
        verdicts.append(hardware.check_memory(settings(tmp_path)).result)
    assert verdicts == [CheckResult.OK, CheckResult.WARN, CheckResult.FAIL]


def test_a_home_that_does_not_exist_yet_has_room(tmp_path: Path) -> None:
    assert "GB free" in hardware.check_disk(settings(tmp_path / "not" / "yet")).seen


def test_a_package_that_is_not_of_the_lock_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "4.0.0" if name == "pyspark" else real(name))
    finding = installation.check_packages(settings(tmp_path))
    assert finding.result is CheckResult.FAIL
    assert "pyspark is 4.0.0, wanted ==4.2.0" in finding.seen


def test_a_tool_that_is_not_of_the_lock_only_warns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "0.1" if name == "pytest" else real(name))
    assert installation.check_packages(settings(tmp_path)).result is CheckResult.WARN


def test_pins_of_another_python_are_left_out(tmp_path: Path) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text(
        "# made by hand\n"
        "here==1.0 ; python_full_version >= '3.10' \\\n    --hash=sha256:00\n    # via there\n"
        f"elsewhere==1.0 ; sys_platform != '{sys.platform}' \\\n    --hash=sha256:00\n"
    )
    assert [pin.name for pin in installation.locked_requirements(lock)] == ["here"]


def test_the_command_exits_1_when_something_is_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: int
) -> None:
    monkeypatch.setenv("MILLRACE_HOME", str(tmp_path))
    monkeypatch.setenv("MILLRACE_BROKER_PORT", str(taken))
    register_commands()
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1
    last = result.stdout.splitlines()[-1]
    assert last.startswith("In the way: ")
    assert f"port {taken}" in last
