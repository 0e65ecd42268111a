"""The server of command requests: executes them one after the other."""

import sys
from contextlib import suppress
from pathlib import Path

from lakehouse.errors import MillraceError
from millrace.local.engine.spark_application import Application
from millrace.local.engine.task_runner import TaskRunner
from millrace.local.requests.command_queue import CommandReply, CommandRequest, pending

_POLL_SECONDS = 0.5


def serve(tasks: TaskRunner) -> None:
    """Execute command requests, until asked to stop.

    Args:
        tasks: runs jobs in the application that writes this home's tables.
    """
    tasks.application.use_scheduler_pool("commands")
    while not tasks.stop.wait(_POLL_SECONDS):
        with suppress(OSError):  # a full disk, say: no reply can be written now
            for request in list(pending(tasks.settings.home)):
                _execute(request, tasks)


def _execute(request: CommandRequest, tasks: TaskRunner) -> None:
    with request.reply.open("w", encoding="utf-8") as file:
        reply = CommandReply(request, file)
        try:
            for job in request.command().jobs():
                tasks.run(job, "command", reply, once=True)
            if tasks.stop.is_set():
                raise MillraceError(
                    "the workspace was stopped before it was done", "Run the command again when it runs"
                )
            reply.write({"done": True})
        except MillraceError as error:
            reply.write({"problem": error.problem, "next_step": error.next_step})
        except Exception as error:  # noqa: BLE001 - the reply has it; the engine goes on
            problem, next_step = _failure(
                error, tasks.application, tasks.settings.home / "logs" / "engine.log"
            )
            reply.write({"problem": problem, "next_step": next_step})


def _failure(error: Exception, application: Application, log: Path) -> tuple[str, str]:
    if application.has_ended():
        return (
            "Spark's Java process ended",
            "Run the command again when `millrace status` shows it running",
        )
    sys.stderr.write(f"a command failed: {error}\n")
    what = " ".join(str(error).split())[:200] or type(error).__name__
    return f"it failed in the engine: {what}", f"See {log}; then run the command again"
