"""A disk without room for logs and state delays the start of a service, and does not end the supervisor."""

import errno
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kit.polling import eventually
from millrace.local.process import child_process, process_registry
from millrace.local.process.child_process import Program
from millrace.local.process.service_runner import BackOff, Service, ServiceRunner

FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("part", ["log", "registration"])
def test_service_is_started_once_the_disk_has_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    program = Program("sleeper", (sys.executable, "-c", "input()"), tmp_path)
    service = Service("sleeper", lambda: program, lambda _: True, lambda: None)
    runner = ServiceRunner(service, BackOff(first=timedelta(milliseconds=10)))

    def refuse(*_: Any, **__: Any) -> Any:
        raise FULL

    with monkeypatch.context() as full:
        if part == "log":
            full.setattr(child_process, "_spawn", refuse)
        else:
            full.setattr(process_registry, "write_state", refuse)
        runner.tick(set())
        assert (runner.state, runner.child) == ("backing off", None)
        assert "No space left" in str(runner.last_error)
    try:
        eventually(lambda: runner.tick(set()) or runner.state == "running", 20, "it runs")
    finally:
        if runner.child:
            runner.child.kill()
