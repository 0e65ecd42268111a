"""The processes that a home has started, so that a later command can find and kill orphans.

A process is taken for one of ours only if its pid, its time of creation, its home and its name, the
last two read from its environment, are all as registered. Nothing else is ever signalled.
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
"""Seconds a time of creation may be off: it is counted from the boot, whose time NTP may correct."""

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
        """The process, if it still runs and is the registered one."""
        with suppress(psutil.Error):
            process = psutil.Process(self.pid)
            if _in_group(process, self):
                return process
        return None

    def group(self) -> list[psutil.Process]:
        """The process and its children, as far as they run, even if the process itself has ended.

        As long as one member lives, the id of the group is not given to another.
        """
        return [process for process in psutil.process_iter() if _in_group(process, self)]

    def kill(self) -> None:
        """Kill the group, with the processes that it starts during the kill."""
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
    """Register a process that was started with the `env_marks`; this one by default."""
    pid = os.getpid() if pid is None else pid
    created = -_CLOCK_TOLERANCE  # of no process: it has ended already, there will be nothing to find
    with suppress(psutil.Error):
        created = psutil.Process(pid).create_time()
    record = RegisteredProcess(name, pid, created, str(home))
    write_state(_folder(home) / f"{name}.json", asdict(record))
    return record


def unregister(home: Path, name: str) -> None:
    """Remove a process that has ended."""
    (_folder(home) / f"{name}.json").unlink(missing_ok=True)


def registered(home: Path) -> list[RegisteredProcess]:
    """The processes registered under a home, running or not.

    Records that can't be read, or that another version wrote with other fields, are left out.
    """
    found = []
    for file in sorted(_folder(home).glob("*.json")):
        with suppress(TypeError):
            found.append(RegisteredProcess(**read_state(file)))
    return found


def running(home: Path, name: str) -> psutil.Process | None:
    """The registered process with that name, if it runs."""
    return next((record.process() for record in registered(home) if record.name == name), None)


def kill_orphans(home: Path, seconds: float = 8.0) -> list[str]:
    """Kill every registered process that still runs, with its children.

    Args:
        home: the folder of all local state.
        seconds: how long they have for ending by themselves, all together.

    Returns:
        The names of those that were running.
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
        unregister(home, record.name)
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
    """Wait until all have ended, at most so long. Zombies count as ended."""
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
    """Whether it runs; a zombie does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _folder(home: Path) -> Path:
    return home / "run" / "processes"
