"""Starts a service, checks it, and restarts it with back-off."""

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from signal import Signals
from typing import Any

from lakehouse.errors import MillraceError
from lakehouse.timestamps import now_rfc3339
from millrace.local.process.child_process import Child
from millrace.local.services import Service

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class BackOff:
    """Exponential back-off between restarts.

    Args:
        first: pause after the first failure.
        limit: maximum pause.
        healthy_after: uptime after which the back-off is reset.
    """

    first: timedelta = timedelta(seconds=1)
    limit: timedelta = timedelta(seconds=60)
    healthy_after: timedelta = timedelta(seconds=60)

    def pause(self, failures: int) -> float:
        """Seconds to wait after this number of consecutive failures (1 or more)."""
        doublings = min(failures - 1, 30)
        return min(self.first.total_seconds() * 2.0**doublings, self.limit.total_seconds())


class ServiceRunner:
    """Keeps one service running, if `tick` is called repeatedly.

    `patiently` is a context manager around slow calls that an exception may interrupt. It does not
    include the start of a process, so that no started process is lost.
    """

    def __init__(
        self,
        service: Service,
        back_off: BackOff,
        patiently: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> None:
        self.service = service
        self.child: Child | None = None
        self.state = "waiting"
        self.since = now_rfc3339()
        self.was_ready = False
        self.starts = 0
        self.last_error: str | None = None
        self._back_off = back_off
        self._patiently = patiently
        self._failures = 0
        self._next_start = 0.0

    def tick(self, ready: set[str]) -> None:
        """Start, check or restart the service, as needed.

        Args:
            ready: names of the services that are, or have been, ready.

        Raises:
            MillraceError: if the first start fails; later starts are retried.
        """
        if self.state == "done":
            return
        if self.child is None:
            if ready.issuperset(self.service.needs) and time.monotonic() >= self._next_start:
                self._start()
        elif self.child.exit_code is not None:
            self._ended(self.child)
        elif self.state == "starting":
            self._look(self.child)
        elif self.child.uptime > self._back_off.healthy_after.total_seconds():
            self._failures = 0

    def describe(self) -> dict[str, Any]:
        """The state of the service for the workspace's state file."""
        return {
            "state": self.state,
            "pid": self.child.pid if self.child else None,
            "since": self.since,
            "restarts": max(self.starts - 1, 0),
            "last_error": self.last_error,
        }

    def enter(self, state: str) -> None:
        """Record a change of state with its time."""
        self.state, self.since = state, now_rfc3339()
        pid = f", pid {self.child.pid}" if self.child else ""
        why = f": {self.last_error}" if state == "backing off" else ""
        _LOG.info("%s: %s%s%s", self.service.name, state, pid, why)

    def _start(self) -> None:
        try:
            with self._patiently():
                self.service.check()
                program = self.service.prepare()
            self.child = Child(program)
        except OSError as error:  # e.g. a full disk: it may have room later
            self._fail(str(error))
        except MillraceError as error:
            if self.starts == 0:
                raise
            self._fail(str(error))
        else:
            self.starts += 1
            self.enter("starting")

    def _look(self, child: Child) -> None:
        with self._patiently():
            is_ready = self.service.is_ready(child)
        if is_ready:
            self.was_ready = True
            self.enter("running")
        elif child.uptime > self.service.ready_within.total_seconds():
            child.kill()
            self._fail(f"not ready after {child.uptime:.0f} s: {self.service.last_error_line()}")

    def _ended(self, child: Child) -> None:
        child.kill()  # kills remaining children
        if self.service.once and child.exit_code == 0:
            self.child, self.was_ready = None, True
            self.enter("done")
        else:
            self._fail(self._how_it_ended(child.exit_code))

    def _how_it_ended(self, code: int | None) -> str:
        """Why it ended: the signal if it was killed, since it could not log then, else its last error."""
        if code is None or code >= 0:
            return f"ended with code {code}: {self.service.last_error_line()}"
        name = Signals(-code).name if -code in set(Signals) else f"signal {-code}"
        memory = "; the system does that when memory runs out" if name == "SIGKILL" else ""
        return f"killed by {name} from outside{memory}"

    def _fail(self, why: str) -> None:
        self.child = None
        self.last_error = why
        self._failures += 1
        self._next_start = time.monotonic() + self._back_off.pause(self._failures)
        self.enter("backing off")
