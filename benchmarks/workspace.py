"""A workspace in a home of its own, as `millrace up` starts it, and the processor time of its processes."""

import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from lakehouse.settings import Settings, load_settings
from millrace.local.process.ports import free_port

_OURS = {os.getpid()}  # processes that are not measured


@contextmanager
def workspace(folder: str) -> Iterator[Settings]:
    """Start a workspace in its own home, on free ports."""
    ports = {f"MILLRACE_{name}_PORT": str(free_port()) for name in ("BROKER", "DASHBOARD")}
    os.environ.update({"MILLRACE_HOME": folder, **ports})
    try:
        run_millrace("up")
        yield load_settings()
    finally:
        run_millrace("down")


def run_millrace(*arguments: str) -> None:
    """Run a command of Millrace; its output is dropped."""
    subprocess.run([sys.executable, "-m", "millrace", *arguments], check=True, stdout=subprocess.DEVNULL)


class Processors:
    """CPU time of a home's processes during the measured part of a run.

    Args:
        home: the home.
        since: start of the measured part, Unix time (s).
        upto: end of the measured part, Unix time (s).
    """

    def __init__(self, home: Path, since: float, upto: float) -> None:
        self._home = str(home)
        self._times = [since, upto]
        self._used: list[tuple[float, dict[tuple[int, float], float]]] = []

    def measure(self) -> None:
        """Record CPU times at the start and at the end. Must be called repeatedly."""
        if self._times and time.time() >= self._times[0]:
            self._times.pop(0)
            self._used.append((time.monotonic(), self._by_process()))

    @property
    def seconds_a_minute(self) -> float:
        """CPU seconds per minute of all processes alive at the end; nan before the end."""
        if len(self._used) < 2:
            return math.nan
        (began, before), (ended, after) = self._used
        used = sum(seconds - before.get(process, 0.0) for process, seconds in after.items())
        return 60 * used / (ended - began)

    def _by_process(self) -> dict[tuple[int, float], float]:
        found = {}
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get("MILLRACE_HOME") == self._home and process.pid not in _OURS:
                    times = process.cpu_times()
                    found[process.pid, process.create_time()] = times.user + times.system
        return found
