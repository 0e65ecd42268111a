"""Registry of the processes that a home has started, so that later commands can kill orphans.

A process counts as registered only if its pid, creation time, and home and name (both from its
environment) match. No other process is signalled.
"""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from millrace.local.process.state_files import read_state, write_state

_CLOCK_TOLERANCE = 2.0
"""Tolerance (s) of creation times, which depend on the boot time, which NTP may correct."""

_KILL_ROUNDS = 5
_HOME, _NAME = "MILLRACE_HOME", "MILLRACE_PROCESS"


@dataclass(frozen=True)
class RegisteredProcess:
    """A process with its creation time and environment."""

    name: str
    pid: int
    created: float
    home: str

    def process(self) -> psutil.Process | None:
        """The process, if it still runs and matches the registered one."""
        with suppress(psutil.Error):
            process = psutil.Process(self.pid)
            if _in_group(process, self):
                return process
        return None

    def group(self) -> list[psutil.Process]:
        """The running members of the process group, even if the process itself has ended.

        The group id is not reused as long as one member lives.
        """
        return [process for process in psutil.process_iter() if _in_group(process, self)]

    def kill(self) -> None:
        """Kill the group, including processes that it starts in the meantime."""
        for _ in range(_KILL_ROUNDS):
            members = self.group()
            for process in members:
                with suppress(psutil.Error):
                    process.kill()
            if not members:
                return


def env_marks(home: Path, name: str) -> dict[str, str]:
    """Environment variables that identify a process."""
    return {_HOME: str(home), _NAME: name}


def register(home: Path, name: str, pid: int | None = None) -> RegisteredProcess:
    """Register a process that was started with the `env_marks`; by default this one."""
    pid = os.getpid() if pid is None else pid
    created = -_CLOCK_TOLERANCE  # it has already ended
    with suppress(psutil.Error):
        created = psutil.Process(pid).create_time()
    record = RegisteredProcess(name, pid, created, str(home))
    write_state(_file(home, record), asdict(record))
    return record


def unregister(home: Path, record: RegisteredProcess) -> None:
    """Remove a process that has ended; others of that name stay registered."""
    _file(home, record).unlink(missing_ok=True)


def registered(home: Path) -> list[RegisteredProcess]:
    """The processes registered under a home, running or not.

    Skips records that can't be read, or that another version wrote with other fields.
    """
    found = []
    for file in sorted(_folder(home).glob("*.json")):
        with suppress(TypeError):
            found.append(RegisteredProcess(**read_state(file)))
    return found


def running(home: Path, name: str) -> psutil.Process | None:
    """The registered process with that name, if it runs."""
    named = (record.process() for record in registered(home) if record.name == name)
    return next((process for process in named if process), None)


def kill_orphans(home: Path, seconds: float = 8.0) -> list[str]:
    """Kill every registered process that still runs, with its children.

    Args:
        home: the folder of all local state.
        seconds: total time for a graceful end.

    Returns:
        The names of the processes that were running.
    """
    ours = [record for record in registered(home) if record.pid != os.getpid()]
    alive = {record: record.group() for record in ours}
    everyone = [process for group in alive.values() for process in group]
    for process in everyone:
        with suppress(psutil.Error):
            process.terminate()
    wait_for(everyone, seconds)
    for record in alive:
        record.kill()
        unregister(home, record)
    return [record.name for record, group in alive.items() if group]


def process_identity() -> dict[str, Any]:
    """Process id and creation time of this process."""
    return {"pid": os.getpid(), "created": psutil.Process().create_time()}


def has_exited(identity: dict[str, Any]) -> bool:
    """Whether a process has ended, by its `process_identity`."""
    with suppress(psutil.Error, KeyError, TypeError):
        process = psutil.Process(identity["pid"])
        return abs(process.create_time() - identity["created"]) >= _CLOCK_TOLERANCE or not _lives(process)
    return True


def wait_for(processes: Sequence[psutil.Process], seconds: float) -> None:
    """Wait until all processes have ended, up to a timeout (s). Zombies count as ended."""
    until = time.monotonic() + seconds
    while any(_lives(process) for process in processes) and time.monotonic() < until:
        time.sleep(0.05)


def _in_group(process: psutil.Process, record: RegisteredProcess) -> bool:
    try:
        age = process.create_time() - record.created
        if process.pid == record.pid:
            return abs(age) < _CLOCK_TOLERANCE and _is_marked(process, record)
        below = age > -_CLOCK_TOLERANCE and os.getpgid(process.pid) == record.pid
        return below and _is_marked(process, record)
    except (psutil.Error, OSError):
        return False


def _is_marked(process: psutil.Process, record: RegisteredProcess) -> bool:
    if not _lives(process):
        return False
    environment = process.environ()
    return environment.get(_HOME) == record.home and environment.get(_NAME) == record.name


def _lives(process: psutil.Process) -> bool:
    """Whether a process runs and is not a zombie."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _folder(home: Path) -> Path:
    return home / "run" / "processes"


def _file(home: Path, record: RegisteredProcess) -> Path:
    return _folder(home) / f"{record.name}.{record.pid}.json"
