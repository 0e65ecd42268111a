"""The engine: the continuous jobs of the bundle, in one Spark application, kept running."""

import logging
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from types import FrameType
from typing import Any

from lakehouse.errors import MillraceError
from lakehouse.job import Run, Watcher
from lakehouse.settings import Settings, load_settings
from millrace.workspace.application import Application, spark_application
from millrace.workspace.bundle import BundleJob, bundle_jobs
from millrace.workspace.ending import GRACE_SECONDS
from millrace.workspace.errands import who
from millrace.workspace.reporting import report_failures
from millrace.workspace.serving import serve
from millrace.workspace.state import write_state
from millrace.workspace.turns import Turns

_LONGEST_PAUSE = 60.0


@dataclass
class JobState:
    """How one job gets on."""

    state: str = "starting"
    batches: int = 0
    rows: int = 0
    restarts: int = 0
    last_error: str | None = None
    last_batch_at: str | None = None


@dataclass
class Engine(Watcher):
    """Runs jobs side by side, each on a thread and in a session of its own.

    Args:
        settings: the settings in force.
        jobs: what to run.
    """

    settings: Settings
    jobs: list[BundleJob]
    stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.states = {job.name: JobState() for job in self.jobs}
        self._turns = Turns(max(1, (os.cpu_count() or 2) // 2))

    def advance(self, job: str, rows: int, seconds: float) -> None:
        """Count a micro-batch."""
        state = self.states[job]
        state.batches += 1
        state.rows += rows
        state.last_batch_at = datetime.now(timezone.utc).isoformat()

    def say(self, job: str, line: str) -> None:
        """Write a line to the log."""
        _say(f"{job}: {line}")

    def run(self, application: Application) -> None:
        """Run until asked to stop.

        Raises:
            MillraceError: if the Java process ends.
        """
        threads = [
            threading.Thread(target=self._keep_running, args=(job, application), name=job.name, daemon=True)
            for job in self.jobs
        ]
        served = (self.settings, application, self._turns, self.stop)
        threads.append(threading.Thread(target=serve, args=served, name="errands", daemon=True))
        threads.append(threading.Thread(target=report_failures, args=served, name="report", daemon=True))
        for thread in threads:
            thread.start()
        while not self.stop.wait(1.0) and application.is_alive:
            self.tell("running")
        self.tell("stopping")
        if not application.is_alive:
            if self.stop.is_set():  # it was cut off
                return
            raise MillraceError(
                "Spark's Java process ended while the jobs ran",
                "Nothing is lost: start them again; `millrace up` does so by itself",
            )
        deadline = time.monotonic() + GRACE_SECONDS
        for thread in threads:
            thread.join(max(deadline - time.monotonic(), 0))

    def _keep_running(self, job: BundleJob, application: Application) -> None:
        """Run a job; when it fails, run it again after a pause that doubles each time in a row."""
        state = self.states[job.name]
        pause = 1.0
        application.share_fairly(job.name)
        while not self.stop.is_set():
            done = state.batches
            try:
                state.state = "running"
                session = application.spark.newSession()
                run = Run(job.name, session, self.settings, False, self.stop, self, self._turns)
                job.job.body(run)
                if not self.stop.is_set():
                    state.state = "done"  # one that has an end
                return
            except Exception as error:  # noqa: BLE001 - whatever it was: say so, and try again
                if self.stop.is_set() or application.has_ended():
                    return
                pause = 1.0 if state.batches > done else min(pause * 2, _LONGEST_PAUSE)
                state.state, state.restarts = "restarting", state.restarts + 1
                state.last_error = _one_line(error)
                _say(f"{job.name} failed, again in {pause:.0f} s: {error}")
                self.stop.wait(pause)

    def tell(self, state: str) -> None:
        """Write the state file: how the engine and each job get on."""
        told: dict[str, Any] = {
            **who(),
            "state": state,
            "jobs": {name: vars(job) for name, job in self.states.items()},
        }
        write_state(self.settings.home / "run" / "engine.json", told)


def main() -> None:
    """Run the bundle's continuous jobs until SIGTERM, or until standard input ends."""
    settings = load_settings()
    engine = Engine(settings, [job for job in bundle_jobs().values() if job.is_continuous])
    logging.getLogger().addHandler(logging.NullHandler())  # py4j's traces would bury what is told below

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        engine.stop.set()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    threading.Thread(target=_stop_with_stdin, args=(engine.stop,), daemon=True).start()
    engine.tell("starting")
    try:
        with spark_application(settings) as application:
            engine.run(application)
    except MillraceError as error:
        _say(f"ERROR {error}")
        os._exit(1)  # not by way of threads that wait for a JVM that is gone
    os._exit(0)


def _stop_with_stdin(stop: threading.Event) -> None:
    while sys.stdin.buffer.read(4096):
        pass
    stop.set()


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__


if __name__ == "__main__":
    main()
