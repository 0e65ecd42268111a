"""The supervisor: starts a home's broker, engine and dashboard, and keeps them running."""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from lakehouse.errors import MillraceError
from lakehouse.timestamps import now_rfc3339
from millrace.local.process import process_registry
from millrace.local.process.child_process import Child
from millrace.local.process.home_lock import SUPERVISOR, workspace_lock
from millrace.local.process.service_runner import BackOff, ServiceRunner
from millrace.local.process.state_files import write_state
from millrace.local.services import Service
from millrace.shutdown_signal import ShutdownSignal, StoppedError

_TICK_SECONDS = 0.2
_DEPENDENTS_SECONDS = 7.0
_ALL_SECONDS = 8.7
"""Time limit (s) of the shutdown; the documented one is 10 s."""


class Supervisor:
    """Keeps services running until a signal stops it.

    Args:
        home: the folder of all local state.
        services: services to keep running, in dependency order.
        facts: additional fields of the state file, such as addresses.
        back_off: back-off before restarts.
    """

    def __init__(
        self,
        home: Path,
        services: Sequence[Service],
        facts: dict[str, Any] | None = None,
        back_off: BackOff | None = None,
    ) -> None:
        self.home = home
        self._stop = ShutdownSignal()
        self._facts = facts or {}
        self._started_at = now_rfc3339()
        self._written: dict[str, Any] = {}
        self._runners = [
            ServiceRunner(service, back_off or BackOff(), self._stop.interruptible) for service in services
        ]

    def run(self) -> None:
        """Start all services and keep them running until a signal.

        Raises:
            MillraceError: if the first start of a service fails, or the home is in use. Services
                that were started are stopped before.
        """
        with self._stop.on_signals(), workspace_lock(self.home):
            process_registry.kill_orphans(self.home)
            record = process_registry.register(self.home, SUPERVISOR)
            try:
                self._keep()
            except StoppedError:
                pass
            except MillraceError as error:
                self._end({"problem": error.problem, "next_step": error.next_step})
                raise
            finally:
                self._end(None)
                process_registry.unregister(self.home, record)

    def _keep(self) -> None:
        for runner in self._runners:
            runner.service.check()
        while not self._stop.requested:
            ready = {runner.service.name for runner in self._runners if runner.was_ready}
            for runner in self._runners:
                runner.tick(ready)
            wanted = [runner for runner in self._runners if not runner.service.extra]
            all_ready = all(runner.state in ("running", "done") for runner in wanted)
            self._report_state("running" if all_ready else "starting")
            self._stop.pause(_TICK_SECONDS)

    def _end(self, error: dict[str, str] | None) -> None:
        """Stop all services within the time limit, dependents first."""
        if self._written.get("state") in ("stopped", "failed"):
            return
        self._report_state("stopping")
        started = time.monotonic()
        dependents = [runner for runner in self._runners if runner.service.needs]
        others = [runner for runner in self._runners if not runner.service.needs]
        _stop_all(dependents, started + _DEPENDENTS_SECONDS)
        _stop_all(others, started + _ALL_SECONDS)
        self._report_state("failed" if error else "stopped", error)

    def _report_state(self, state: str, error: dict[str, str] | None = None) -> None:
        content = {
            "state": state,
            "started_at": self._started_at,
            "pid": os.getpid(),
            **self._facts,
            "error": error,
            "processes": {runner.service.name: runner.describe() for runner in self._runners},
        }
        if content != self._written:
            with suppress(OSError):  # a full disk must not prevent the shutdown
                write_state(self.home / "run" / "workspace.json", content)
                self._written = content


def _stop_all(runners: Sequence[ServiceRunner], until: float) -> None:
    children: list[Child] = [runner.child for runner in runners if runner.child]
    for child in children:
        child.ask_to_stop()
    for child in children:
        child.stop(max(until - time.monotonic(), 0))
    for runner in runners:
        runner.child = None
        runner.enter("stopped")
