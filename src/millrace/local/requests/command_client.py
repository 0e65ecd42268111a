"""The client of command requests: submits a command to the engine and waits for the reply."""

import json
import time
from collections.abc import Callable
from typing import Any

from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.local.launch import workspace_state
from millrace.local.process.home_lock import supervisor_pid
from millrace.local.process.state_files import read_state
from millrace.local.requests.command_queue import CommandRequest, has_exited, submit
from millrace.local.requests.engine_commands import EngineCommand
from millrace.local.services import ENGINE

_POLL_SECONDS = 0.2


def engine_runs(settings: Settings) -> bool:
    """Whether this home has an engine that accepts commands, or one that is about to be restarted."""
    if supervisor_pid(settings.home) is not None and ENGINE in workspace_state(settings).get("processes", {}):
        return True
    engine = read_state(settings.home / "run" / "engine.json")
    return not has_exited(engine) and engine.get("state") != "stopping"


def execute_in_engine(settings: Settings, command: EngineCommand, log: Callable[[str], None]) -> None:
    """Have the engine execute a command, and wait until it is done.

    Args:
        settings: the settings in force.
        command: what to execute.
        log: is given each progress line.

    Raises:
        MillraceError: if the command fails, or the engine ends before it is done.
    """
    request = submit(settings.home, command)
    try:
        _follow(settings, request, log)
    finally:
        request.cancel()


def _follow(settings: Settings, request: CommandRequest, log: Callable[[str], None]) -> None:
    done, engine = 0, dict[str, Any]()
    while True:
        ended = has_exited(engine) if engine else not engine_runs(settings)
        lines = _reply_lines(request)  # read after the check: what a dead engine wrote last counts
        for line in lines[done:]:
            if "done" in line:
                return
            if "problem" in line:
                raise MillraceError(line["problem"], line["next_step"])
            if "line" in line:
                log(line["line"])
            else:
                engine = line
        done = len(lines)
        if ended:
            raise MillraceError(
                "the engine ended before it was done: each table is as it was or as it shall be",
                "Run the command again when `millrace status` shows the engine running",
            )
        time.sleep(_POLL_SECONDS)


def _reply_lines(request: CommandRequest) -> list[dict[str, Any]]:
    try:
        lines = request.reply.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in lines[:-1]]  # the last line isn't whole yet
