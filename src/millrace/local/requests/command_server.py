"""The server of command requests: executes them one after the other."""

import json
import select
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from lakehouse.errors import MillraceError
from lakehouse.run.job import JobListener
from millrace.local.engine.task_runner import TaskRunner
from millrace.local.requests.command_socket import accept_requests
from millrace.local.requests.engine_commands import EngineCommand

_RETRY_SECONDS = 0.5


class CommandReply(JobListener):
    """The reply to a command, sent while it is executed.

    Args:
        connection: to the process that waits for it.

    Raises:
        MillraceError: from `log`, if the command has been cancelled.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lines: list[str] = []
        self._writable = select.poll()
        self._writable.register(connection, select.POLLOUT)

    def log(self, job: str, line: str) -> None:
        """Send a log line of a job; if the command does not read messages, the line is sent later."""
        self._lines.append(f"{job}: {line}")
        try:
            if self._writable.poll(0):
                self.send({})
        except OSError:
            raise MillraceError(f"{job} was cancelled", "Run the command again") from None

    def report_batch(self, job: str, rows: int, seconds: float) -> None:
        """Report a micro-batch."""
        self.log(job, f"batch of {rows:,} rows in {seconds:.1f} s")

    def send(self, content: dict[str, Any]) -> None:
        """Send a message, with the log lines since the last one."""
        lines, self._lines = self._lines, []
        self._connection.send_bytes(json.dumps({"lines": lines, **content}).encode())


def serve(tasks: TaskRunner) -> None:
    """Execute command requests, until asked to stop.

    Args:
        tasks: runs jobs in the application that writes this home's tables.
    """
    tasks.application.use_scheduler_pool("commands")
    while not tasks.stop.wait(_RETRY_SECONDS):
        with suppress(OSError):  # no socket now, e.g. because of a full disk
            for connection, message in accept_requests(tasks.settings.home, tasks.stop):
                _execute(connection, message, tasks)


def _execute(connection: Connection, message: bytes, tasks: TaskRunner) -> None:
    reply = CommandReply(connection)
    with connection, suppress(OSError):  # cancelled
        reply.send({})  # fails before anything is executed
        reply.send(_result(message, reply, tasks))


def _result(message: bytes, reply: CommandReply, tasks: TaskRunner) -> dict[str, Any]:
    try:
        for job in EngineCommand(**json.loads(message)).jobs():
            tasks.run(job, "command", reply, once=True)
        if not tasks.stop.is_set():
            return {"done": True}
        failure = MillraceError(
            "the workspace was stopped before it was done", "Run the command again when it runs"
        )
    except Exception as error:  # noqa: BLE001 - the reply has the error; the engine continues
        failure = error if isinstance(error, MillraceError) else _failure(error, tasks)
    return {"problem": failure.problem, "next_step": failure.next_step}


def _failure(error: Exception, tasks: TaskRunner) -> MillraceError:
    if tasks.application.has_ended():
        return MillraceError(
            "Spark's Java process ended", "Run the command again when `millrace status` shows it running"
        )
    sys.stderr.write(f"a command failed: {error}\n")
    what = " ".join(str(error).split())[:200] or type(error).__name__
    log = tasks.settings.home / "logs" / "engine.log"
    return MillraceError(f"it failed in the engine: {what}", f"See {log}; then run the command again")
