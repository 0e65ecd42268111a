"""Starts a workspace, in the background or in the foreground."""

import math
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import typer

from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.local.launch import STOP_SECONDS, Report, end, launch, wait_until_running, workspace_state
from millrace.local.plan import Plan
from millrace.local.process import process_registry
from millrace.local.process.child_process import Child
from millrace.local.process.home_lock import workspace_lock
from millrace.local.services import DASHBOARD, url
from millrace.shutdown_signal import ShutdownSignal, StoppedError

_TICK_SECONDS = 0.25

Show = Callable[[Callable[[], bool]], None]
"""Shows a view while the given function returns true."""


def start_detached(settings: Settings, plan: Plan) -> None:
    """Start a workspace in the background, and wait until all its services are ready.

    Raises:
        MillraceError: if it can't be started, or a service is not ready in time.
    """
    supervisor = launch(settings, plan, tied=False)
    with ShutdownSignal().on_signals() as stop:
        try:
            with stop.interruptible():
                wait_until_running(supervisor, settings, _reporter(settings))
        except StoppedError:
            end(settings)
            typer.echo("Stopped before it was ready.")
            raise typer.Exit(130) from None
    _print_addresses(settings)
    typer.echo("See `millrace status`; stop it with `millrace down`.")


def run_in_foreground(settings: Settings, plan: Plan, show: Show | None = None) -> bool:
    """Start a workspace that ends with this process, and wait for a signal or its end.

    Args:
        settings: the settings in force.
        plan: services to run.
        show: shows a view once all services are ready; by default nothing.

    Returns:
        True if a signal ended it, False if `millrace down` or an error did.

    Raises:
        MillraceError: if it can't be started.
    """
    supervisor = launch(settings, plan, tied=True)
    with ShutdownSignal().on_signals() as stop:
        try:
            with stop.interruptible():
                # No deadline: the user sees the progress, and can press Ctrl-C.
                wait_until_running(supervisor, settings, _reporter(settings), seconds=math.inf)
            _print_addresses(settings)
            (show or _wait)(lambda: not stop.requested and supervisor.exit_code is None)
        except StoppedError:
            pass
        finally:
            _end(supervisor, settings)
        return stop.requested


def _wait(is_running: Callable[[], bool]) -> None:
    typer.echo("Ctrl-C stops it.")
    while is_running():
        time.sleep(_TICK_SECONDS)


def _end(supervisor: Child, settings: Settings) -> None:
    supervisor.stop(STOP_SECONDS - 0.5)
    # Without the lock, the processes are those of another workspace, which started at the same time.
    with suppress(MillraceError), workspace_lock(settings.home):
        process_registry.kill_orphans(settings.home, seconds=0.0)


def _reporter(settings: Settings) -> Report:
    started = time.monotonic()

    def report(name: str, service: dict[str, Any]) -> None:
        state = service["state"]
        why = f": {service['last_error']}" if state == "backing off" else ""
        if state in ("starting", "running", "done") or why:
            address = f": {url(settings)}" if (name, state) == (DASHBOARD, "running") else ""
            typer.echo(f"  {time.monotonic() - started:5.1f} s  {name} {state}{address}{why}")

    return report


def _print_addresses(settings: Settings) -> None:
    state = workspace_state(settings)
    if page := state.get("dashboard"):
        typer.echo(f"Dashboard  {page}")
    if collector := state.get("collector"):
        typer.echo(f"Collector  {collector}/v1/batch")
    if api := state.get("api"):
        typer.echo(f"Live page  {api}/live")
    typer.echo(f"Kafka      {state.get('kafka')}")
    typer.echo(f"Logs       {settings.home / 'logs'}")
