"""Runs the pipeline as a process group that can be killed, and finds leftover processes of a home."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from kit.home import JOBS, ROOT, Home, command
from kit.polling import eventually

START_SECONDS = 900.0  # for small micro-batches on a busy machine
"""Timeout for reaching the moment to kill."""


class Pipeline:
    """`millrace run … --once` in its own process group; use it as a context manager.

    Args:
        home: the home.
        jobs: the jobs; all by default.
    """

    def __init__(self, home: Home, *jobs: str) -> None:
        self.home = home
        self._reported = home.path.parent / f"{home.path.name}.stderr"
        with self._reported.open("wb") as reported:
            self.process = subprocess.Popen(
                command("run", *(jobs or JOBS), "--once"),
                env=home.env,
                cwd=ROOT,
                stdout=subprocess.DEVNULL,
                stderr=reported,
                start_new_session=True,
            )

    def __enter__(self) -> "Pipeline":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill_group()

    @property
    def reported(self) -> list[str]:
        """Lines on standard error so far, without progress lines."""
        lines = self._reported.read_text().splitlines()
        return [line for line in lines if not line.startswith(tuple(f"{job}: " for job in JOBS))]

    def reaches(self, moment: Callable[[], bool]) -> None:
        """Wait until a condition is true. The process must not end before."""
        eventually(lambda: moment() or self.process.poll() is not None, START_SECONDS, "the moment to kill")
        assert self.process.poll() is None, f"it ended before it could be killed: {self.reported}"

    def java(self) -> psutil.Process:
        """Its Java process."""
        return next(child for child in self.children() if child.name() == "java")

    def children(self) -> list[psutil.Process]:
        """Its direct child processes."""
        return psutil.Process(self.process.pid).children()

    def kill_group(self) -> None:
        """Kill the whole process group, as `kill -9 -PID` does."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def ends(self, seconds: float) -> int:
        """Wait for its end. Returns the exit code."""
        return self.process.wait(seconds)


def processes_of(home: Path) -> list[psutil.Process]:
    """All running processes that were started for this home."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            ours = process.environ().get("MILLRACE_HOME") == str(home)
            if ours and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def assert_nothing_runs(home: Path, seconds: float = 10.0) -> None:
    """Assert that all processes of a home end within some seconds."""
    eventually(lambda: not processes_of(home), seconds, f"nothing runs in {home}")


def seconds_of(action: Callable[[], object]) -> float:
    """The duration of an action in seconds."""
    started = time.monotonic()
    action()
    return time.monotonic() - started
