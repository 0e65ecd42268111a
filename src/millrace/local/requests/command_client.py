"""The client of command requests: asks the engine to execute a command, and waits for the result."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.local.launch import workspace_state
from millrace.local.process.home_lock import supervisor_pid
from millrace.local.process.process_registry import has_exited
from millrace.local.process.state_files import read_state
from millrace.local.requests.command_socket import connect
from millrace.local.requests.engine_commands import EngineCommand
from millrace.local.services import ENGINE

_RETRY_SECONDS = 0.2


def engine_runs(settings: Settings) -> bool:
    """Whether this home has an engine that accepts commands, or one that is about to be restarted."""
    if supervisor_pid(settings.home) is not None and ENGINE in workspace_state(settings).get("processes", {}):
        return True
    engine = read_state(settings.home / "run" / "engine.json")
    return not has_exited(engine) and engine.get("state") != "stopping"


def execute_in_engine(settings: Settings, command: EngineCommand, log: Callable[[str], None]) -> None:
    """Ask the engine to execute a command, and wait for its end.

    Args:
        settings: the settings in force.
        command: the command.
        log: called with each progress line.

    Raises:
        MillraceError: if the command fails, or the engine ends before it is done.
    """
    for reply in _replies(settings, command):
        for line in reply["lines"]:
            log(line)
        if "done" in reply:
            return
        if "problem" in reply:
            raise MillraceError(reply["problem"], reply["next_step"])
    raise MillraceError(
        "the engine ended before it was done: each table is as it was or as it shall be",
        "Run the command again when `millrace status` shows the engine running",
    )


def _replies(settings: Settings, command: EngineCommand) -> Iterator[dict[str, Any]]:
    """Messages of the engine until the command ends. Waits for an engine that is starting."""
    is_executed = False
    while engine_runs(settings):
        with suppress(FileNotFoundError, ConnectionError, EOFError), connect(settings.home) as engine:
            engine.send_bytes(json.dumps(vars(command)).encode())
            while True:
                reply = json.loads(engine.recv_bytes())
                is_executed = True
                yield reply
        if is_executed:
            return
        time.sleep(_RETRY_SECONDS)
