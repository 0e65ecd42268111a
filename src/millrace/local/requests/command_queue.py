"""Command requests to a running engine: a file for each, and a file beside it with the reply.

A command writes `ID.json`. The engine accepts it by creating `ID.reply`, whose lines are JSON objects: the
engine's process, then progress lines, at last the result. An engine that died is noticed by its process,
a cancelled request by its file, which is gone.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import psutil

from lakehouse.errors import MillraceError
from lakehouse.run.job import JobListener
from millrace.local.process.state_files import read_state, write_state
from millrace.local.requests.engine_commands import EngineCommand

_CLOCK_TOLERANCE = 2.0
"""Seconds a process's creation time may be off: it counts from the boot, whose time NTP may correct."""


@dataclass(frozen=True)
class CommandRequest:
    """A submitted command.

    Args:
        file: where it is written.
    """

    file: Path

    @property
    def reply(self) -> Path:
        """Where the engine replies."""
        return self.file.with_suffix(".reply")

    @property
    def is_pending(self) -> bool:
        """Whether it has not been cancelled, and the process that submitted it runs."""
        content = read_state(self.file)
        return bool(content) and _is_running(content)

    def command(self) -> EngineCommand:
        """The command."""
        content = read_state(self.file)
        return EngineCommand(str(content["command"]), [str(name) for name in content["names"]])

    def cancel(self) -> None:
        """Remove it, with its reply if there is one."""
        self.file.unlink(missing_ok=True)
        self.reply.unlink(missing_ok=True)


class CommandReply(JobListener):
    """The engine's reply, written while the command runs.

    Args:
        request: what is executed.
        file: its reply, open.

    Raises:
        MillraceError: from `say`, if the request has been cancelled.
    """

    def __init__(self, request: CommandRequest, file: TextIO) -> None:
        self._request = request
        self._file = file
        self.write(process_identity())

    def log(self, job: str, line: str) -> None:
        """Pass on a job's log line."""
        if not self._request.is_pending:
            raise MillraceError(f"{job} was cancelled", "Run the command again")
        self.write({"line": f"{job}: {line}"})

    def report_batch(self, job: str, rows: int, seconds: float) -> None:
        """Report a micro-batch."""
        self.log(job, f"batch of {rows:,} rows in {seconds:.1f} s")

    def write(self, content: dict[str, Any]) -> None:
        """Add a line."""
        self._file.write(f"{json.dumps(content)}\n")
        self._file.flush()


def submit(home: Path, command: EngineCommand) -> CommandRequest:
    """Write a request for the engine to find."""
    created = psutil.Process().create_time()
    request = CommandRequest(queue_folder(home) / f"{os.getpid()}-{created:.3f}.json")
    content = {"command": command.command, "names": list(command.names), **process_identity()}
    write_state(request.file, content)
    return request


def pending(home: Path) -> Iterator[CommandRequest]:
    """Requests that no engine has accepted. Files left behind by processes that ended are removed."""
    for file in sorted(queue_folder(home).glob("*.json")):
        request = CommandRequest(file)
        if not request.is_pending:
            request.cancel()
        elif not request.reply.exists():
            yield request
    for reply in queue_folder(home).glob("*.reply"):
        if not reply.with_suffix(".json").exists():
            reply.unlink(missing_ok=True)


def queue_folder(home: Path) -> Path:
    """The folder of requests and replies."""
    return home / "run" / "requests"


def process_identity() -> dict[str, Any]:
    """Process id and creation time of this process."""
    return {"pid": os.getpid(), "created": psutil.Process().create_time()}


def has_exited(process: dict[str, Any]) -> bool:
    """Whether a process has ended, by its `process_identity`."""
    return not _is_running(process)


def _is_running(identity: dict[str, Any]) -> bool:
    with suppress(psutil.Error, KeyError, TypeError):
        process = psutil.Process(identity["pid"])
        same = abs(process.create_time() - identity["created"]) < _CLOCK_TOLERANCE
        return same and process.status() != psutil.STATUS_ZOMBIE
    return False
