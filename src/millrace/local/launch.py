"""Starts and stops the supervisor of a workspace."""

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psutil

from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.local.kafka.kafka_health import require_kafka
from millrace.local.plan import Plan
from millrace.local.process import process_registry
from millrace.local.process.child_process import Child, Program, last_error
from millrace.local.process.home_lock import SUPERVISOR, already_running, supervisor_pid, workspace_lock
from millrace.local.process.state_files import read_state
from millrace.local.services import environment

READY_SECONDS = 180.0
STOP_SECONDS = 10.0
_POLL_SECONDS = 0.1

Report = Callable[[str, dict[str, Any]], None]
"""Called with the name of a service and its description when its state changes."""


def launch(settings: Settings, plan: Plan, tied: bool) -> Child:
    """Start a supervisor for the plan, without waiting for it.

    Args:
        settings: the settings in force.
        plan: services that it runs.
        tied: whether it ends when this process ends.

    Raises:
        MillraceError: if a supervisor already runs, or the configured external Kafka does not answer.
    """
    with workspace_lock(settings.home):
        pass  # raises if the home is in use
    if settings.kafka_bootstrap:
        require_kafka(settings)
    command = (sys.executable, "-m", "millrace.local.plan", *plan.arguments())
    env = environment(settings)
    return Child(Program(SUPERVISOR, command, settings.home, env, grace=STOP_SECONDS, tied=tied))


def workspace_state(settings: Settings) -> dict[str, Any]:
    """The supervisor's state file; empty if there is none."""
    return read_state(settings.home / "run" / "workspace.json")


def wait_until_running(
    supervisor: Child, settings: Settings, report: Report, seconds: float = READY_SECONDS
) -> None:
    """Wait until every service has been ready once.

    Raises:
        MillraceError: if the supervisor gives up, or a service is not ready within the time.
    """
    until, printed = time.monotonic() + seconds, dict[str, str]()
    while True:
        ended = supervisor.exit_code is not None
        state = workspace_state(settings)
        if state.get("pid") == supervisor.pid:
            for name, service in state["processes"].items():
                if printed.get(name) != service["state"]:
                    printed[name] = service["state"]
                    report(name, service)
            if state["state"] == "running":
                return
        if ended:
            raise _gave_up(supervisor, settings, state)
        if time.monotonic() > until:
            raise _not_ready(settings, state, seconds)
        time.sleep(_POLL_SECONDS)


def end(settings: Settings) -> list[str]:
    """Stop the supervisor and every process that this home started.

    Returns:
        The names of the processes that were running.
    """
    names = [record.name for record in process_registry.registered(settings.home) if record.group()]
    process = process_registry.running(settings.home, SUPERVISOR)
    if process is not None:
        _ask_to_end(process)
    process_registry.kill_orphans(settings.home)
    return names


def _ask_to_end(process: psutil.Process) -> None:
    with suppress(psutil.NoSuchProcess):
        process.terminate()
        process_registry.wait_for([process], STOP_SECONDS)
        process.kill()


def _gave_up(supervisor: Child, settings: Settings, state: dict[str, Any]) -> MillraceError:
    error = state.get("error") if state.get("pid") == supervisor.pid else None
    if error:
        return MillraceError(error["problem"], error["next_step"])
    if supervisor_pid(settings.home) is not None:
        return already_running(settings.home)
    log = supervisor.program.log
    printed = last_error(log) or "without a word"
    return MillraceError(f"the workspace ended at once: {printed.removeprefix('ERROR ')}", f"See {log}")


def _not_ready(settings: Settings, state: dict[str, Any], seconds: float) -> MillraceError:
    waiting = {
        name: service
        for name, service in state.get("processes", {}).items()
        if service["state"] not in ("running", "done")
    }
    nothing: dict[str, Any] = {}
    name, service = next(iter(waiting.items()), ("workspace", nothing))
    why = service.get("last_error") or service.get("state") or "no word from it"
    return MillraceError(
        f"the {name} is not ready after {seconds:.0f} s: {why}",
        f"It goes on trying: see `millrace status` and {settings.home / 'logs'}; `millrace down` stops it",
    )
