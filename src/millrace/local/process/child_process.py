"""Child processes: started with a log, registered, and stopped with their own children."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from millrace.local.process import parent_death_signal, process_registry

_LOG_LIMIT = 5_000_000
_POLL_SECONDS = 0.05
_NAMES_ERROR = re.compile(r"\b(ERROR|FATAL|Caused by)\b|^[\w.]*(Error|Exception)\b")
"""An error line of a logger, or the last line of a stack trace."""


@dataclass(frozen=True)
class Program:
    """A program to run.

    Args:
        name: its name in the workspace.
        command: program and arguments.
        home: the folder of all local state.
        env: environment variables, in addition to those of this process.
        grace: seconds between SIGTERM and SIGKILL.
        log_name: name of its log, without `.log`; by default the program's name.
        tied: whether it ends when its parent process ends.
    """

    name: str
    command: tuple[str, ...]
    home: Path
    env: Mapping[str, str] = field(default_factory=dict)
    grace: float = 6.5
    log_name: str | None = None
    tied: bool = True

    @property
    def log(self) -> Path:
        """Log of its standard output and error."""
        return self.home / "logs" / f"{self.log_name or self.name}.log"


class Child:
    """A program that runs as a child of this process.

    It has its own session, so that Ctrl-C in a terminal reaches only its parent, and that it can be
    killed with all its children. If tied, it gets SIGTERM when the thread that started it ends
    (Linux), and end of file on its standard input (all systems).
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.started = time.monotonic()
        self._process = _spawn(program)
        try:
            self._record = process_registry.register(program.home, program.name, self.pid)
        except OSError:  # unregistered, it could not be found after a crash
            self._process.kill()
            self._process.wait()
            raise

    @property
    def pid(self) -> int:
        """Its process id, which is also the id of its process group."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Its exit code; None while it runs, negative after a signal."""
        return self._process.poll()

    @property
    def uptime(self) -> float:
        """Seconds since its start."""
        return time.monotonic() - self.started

    def ask_to_stop(self) -> None:
        """Send SIGTERM and close its standard input, without waiting."""
        if self.exit_code is None:
            self._process.terminate()
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()

    def kill(self) -> None:
        """Kill it with its children."""
        if self.exit_code is None:
            self._process.kill()
        self._record.kill()
        self._process.wait()
        process_registry.unregister(self.program.home, self._record)

    def stop(self, seconds: float | None = None) -> bool:
        """Stop it, and kill it after a time (default: its grace period). True if it exits before that."""
        self.ask_to_stop()
        until = time.monotonic() + (self.program.grace if seconds is None else seconds)
        while self.exit_code is None and time.monotonic() < until:
            time.sleep(_POLL_SECONDS)
        by_itself = self.exit_code is not None
        self.kill()
        return by_itself


def _spawn(program: Program) -> subprocess.Popen[bytes]:
    wrapper = (
        (sys.executable, "-I", "-S", parent_death_signal.__file__, str(os.getpid())) if program.tied else ()
    )
    program.log.parent.mkdir(parents=True, exist_ok=True)
    _rotate(program.log)
    with program.log.open("ab") as log:
        return subprocess.Popen(
            (*wrapper, *program.command),
            stdin=subprocess.PIPE if program.tied else subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **program.env, **process_registry.env_marks(program.home, program.name)},
            start_new_session=True,
        )


def _rotate(log: Path) -> None:
    """Rename a log to `….log.1` when it exceeds the limit."""
    with suppress(FileNotFoundError):
        if log.stat().st_size > _LOG_LIMIT:
            log.replace(log.with_name(f"{log.name}.1"))


def last_error(log: Path) -> str | None:
    """The last line of a log that names an error, else its last line; None if it is empty."""
    with suppress(OSError):
        lines = log.read_bytes()[-100_000:].decode("utf-8", "replace").splitlines()
        messages = [line.strip() for line in lines if line.strip()]
        errors = [line for line in messages if _NAMES_ERROR.search(line)]
        return next(reversed(errors or messages), None)
    return None
