"""The engine: runs the bundle's jobs in one Spark application, continuously or on schedule."""

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from types import FrameType
from typing import Any

from lakehouse.errors import MillraceError
from lakehouse.settings import Settings, load_settings
from millrace.local.bundle.jobs import BundleJob, bundle_jobs
from millrace.local.engine.fair_semaphore import FairSemaphore, Turn
from millrace.local.engine.gate_reports import report_failures
from millrace.local.engine.job_runner import CREDIT_PATH, JobRunner, log
from millrace.local.engine.spark_application import Application, spark_application
from millrace.local.engine.task_runner import TaskRunner
from millrace.local.process.process_registry import process_identity
from millrace.local.process.state_files import write_state
from millrace.local.requests.command_server import serve
from millrace.shutdown_signal import GRACE_SECONDS


class Engine:
    """Runs jobs concurrently, each with its own thread and Spark session.

    Args:
        settings: the settings in force.
        jobs: jobs to keep running.
        stop: event that ends the engine.
        scheduled: jobs to run on schedule.
    """

    def __init__(
        self,
        settings: Settings,
        jobs: Sequence[BundleJob],
        stop: threading.Event | None = None,
        scheduled: Sequence[BundleJob] = (),
    ) -> None:
        self.settings = settings
        self.stop = stop or threading.Event()
        self._runner = JobRunner(jobs, scheduled)
        self._turns = FairSemaphore(max(1, (os.cpu_count() or 2) // 2))

    def run(self, application: Application) -> None:
        """Run until stopped.

        Raises:
            MillraceError: if the Java process ends.
        """
        worker = TaskRunner(application, self.settings, self.stop, self._turn_of)
        threads, schedules = self._runner.begin(worker)
        for target, name in ((serve, "commands"), (report_failures, "report")):
            threads.append(threading.Thread(target=target, args=(worker,), name=name, daemon=True))
            threads[-1].start()
        while not self.stop.wait(1.0) and application.is_alive:
            self._runner.update_next_runs(schedules)
            self.report_state("running")
        self.report_state("stopping")
        schedules.stop()
        if not application.is_alive:
            if self.stop.is_set():  # the batch was interrupted
                return
            raise MillraceError(
                "Spark's Java process ended while the jobs ran",
                "Nothing is lost: start them again; `millrace up` does so by itself",
            )
        deadline = time.monotonic() + GRACE_SECONDS
        for thread in threads:
            thread.join(max(deadline - time.monotonic(), 0))

    def _turn_of(self, job: str) -> Turn:
        """Turns of a job: those that a credit waits for go ahead of the shop's database and of repairs."""
        if job == CREDIT_PATH[-1]:
            return self._turns.last
        return self._turns.first if job in CREDIT_PATH else self._turns.others

    def report_state(self, state: str) -> None:
        """Write the state file: states of the engine and of each job."""
        contents: dict[str, Any] = {
            **process_identity(),
            "state": state,
            "jobs": {name: vars(job) for name, job in self._runner.states.items()},
        }
        write_state(self.settings.home / "run" / "engine.json", contents)


def main() -> None:
    """Run the bundle's jobs until SIGTERM, or until standard input ends."""
    settings = load_settings()
    stop = threading.Event()
    logging.getLogger().addHandler(logging.NullHandler())  # py4j's stack traces would hide the error below

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    threading.Thread(target=_stop_with_stdin, args=(stop,), daemon=True).start()
    try:
        jobs = bundle_jobs(settings).values()
        kept, scheduled = [job for job in jobs if job.continuous], [job for job in jobs if job.schedule]
        engine = Engine(settings, kept, stop, scheduled)
        engine.report_state("starting")
        with spark_application(settings) as application:
            engine.run(application)
    except MillraceError as error:
        log(f"ERROR {error}")
        os._exit(1)  # without waiting for threads that wait for a dead JVM
    os._exit(0)


def _stop_with_stdin(stop: threading.Event) -> None:
    while sys.stdin.buffer.read(4096):
        pass
    stop.set()


if __name__ == "__main__":
    main()
