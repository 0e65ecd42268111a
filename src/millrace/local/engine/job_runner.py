"""Runs continuous jobs, with back-off after failures, and scheduled jobs."""

import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from lakehouse.run.job import JobListener
from millrace.local.bundle.jobs import BundleJob
from millrace.local.engine import run_history
from millrace.local.engine.schedules import Schedules
from millrace.local.engine.task_runner import TaskRunner

LONGEST_PAUSE = 60.0
_TRIES = 3
"""Attempts of a scheduled job per scheduled time."""

CREDIT_PATH = ("ingest", "refine", "publish")
"""Jobs that a credit waits for, in order. Others start after the last one's first micro-batch."""

_LONGEST_WAIT = 60.0
"""Seconds after which they start, also without such a micro-batch."""


@dataclass
class JobState:
    """State of one job."""

    state: str = "starting"
    kind: str = "continuous"
    batches: int = 0
    rows: int = 0
    restarts: int = 0
    last_error: str | None = None
    last_batch_at: str | None = None
    next_run: str | None = None


class JobRunner(JobListener):
    """Runs jobs continuously or on schedule, and tracks their states.

    Args:
        jobs: continuous jobs to keep running, and others to run once; paused ones are not started.
        scheduled: jobs to run on schedule.
    """

    def __init__(self, jobs: Sequence[BundleJob], scheduled: Sequence[BundleJob] = ()) -> None:
        self.jobs, self.scheduled = list(jobs), list(scheduled)
        self.states = {job.name: JobState() for job in self.jobs}
        self.states |= {job.name: JobState("scheduled", "scheduled") for job in self.scheduled}
        self._has_credit = threading.Event()
        for job in (*self.jobs, *self.scheduled):
            if job.is_paused:
                self.states[job.name].state = "paused"

    def report_batch(self, job: str, rows: int, seconds: float) -> None:
        """Count a micro-batch."""
        state = self.states.get(job, JobState())
        state.batches += 1
        state.rows += rows
        state.last_batch_at = datetime.now(timezone.utc).isoformat()
        if job == CREDIT_PATH[-1]:
            self._has_credit.set()

    def begin(self, worker: TaskRunner) -> tuple[list[threading.Thread], Schedules]:
        """Start the threads of continuous jobs, and the scheduler."""
        schedules = Schedules(self.scheduled, lambda job: self._run_on_time(job, worker, schedules))
        for job in (*self.jobs, *self.scheduled):
            if run_history.mark_interrupted(worker.settings.home, job.name):
                self.states[job.name].restarts += 1
                if job.schedule and not job.is_paused and job in self.scheduled:
                    schedules.begin_now(job)
        threads = [
            threading.Thread(target=self._keep_running, args=(job, worker), name=job.name, daemon=True)
            for job in self.jobs
            if not job.is_paused
        ]
        for thread in threads:
            thread.start()
        schedules.start()
        return threads, schedules

    def update_next_runs(self, schedules: Schedules) -> None:
        """Update the next start of each scheduled job."""
        for job in self.scheduled:
            at = schedules.next_time(job.name)
            self.states[job.name].next_run = at.astimezone(timezone.utc).isoformat() if at else None

    def _keep_running(self, job: BundleJob, worker: TaskRunner) -> None:
        """Run a job; after a failure, run it again with back-off."""
        state, pause = self.states[job.name], 1.0
        worker.application.use_scheduler_pool(job.name)
        if job.name not in CREDIT_PATH:
            self._wait_for_credit(worker.stop)
        while not worker.stop.is_set():
            done = state.batches
            try:
                state.state = "running"
                worker.run(job, "continuous" if job.continuous else "command", self)
                if worker.stop.is_set() or not job.continuous:
                    state.state = "done"
                    return
                worker.stop.wait(worker.settings.trigger_interval.total_seconds())
            except Exception as error:  # noqa: BLE001 - any error is logged, and the job retried
                if worker.stop.is_set() or worker.application.has_ended():
                    return
                pause = 1.0 if state.batches > done else min(pause * 2, LONGEST_PAUSE)
                self._failed(job.name, "restarting", error, f"again in {pause:.0f} s")
                state.restarts += 1
                worker.stop.wait(pause)

    def _wait_for_credit(self, stop: threading.Event) -> None:
        """Wait until publish has finished a micro-batch after the start, at most a minute."""
        deadline = time.monotonic() + _LONGEST_WAIT
        runs = any(job.name == CREDIT_PATH[-1] and not job.is_paused for job in self.jobs)
        while runs and not stop.is_set() and time.monotonic() < deadline:
            if self._has_credit.wait(1.0):
                return

    def _run_on_time(self, job: BundleJob, worker: TaskRunner, schedules: Schedules) -> None:
        """Run a scheduled job; after a failure, retry it a few times with back-off."""
        state = self.states[job.name]
        worker.application.use_scheduler_pool(job.name)
        for attempt in range(_TRIES):
            if worker.stop.is_set():
                return
            state.state = "running"
            try:
                worker.run(job, "schedule", self, once=True)
            except Exception as error:  # noqa: BLE001 - the same
                if worker.stop.is_set() or worker.application.has_ended():
                    return
                last = attempt == _TRIES - 1
                pause = 2.0 ** (attempt + 1)
                again = "not again before its next time" if last else f"again in {pause:.0f} s"
                self._failed(job.name, "failed" if last else "restarting", error, again)
                if last or worker.stop.wait(pause):
                    return
                state.restarts += 1
            else:
                state.state = "scheduled"
                return

    def _failed(self, name: str, state: str, error: Exception, again: str) -> None:
        self.states[name].last_error = " ".join(str(error).split())[:300] or type(error).__name__
        self.states[name].state = state
        log(f"{name} failed, {again}: {error}")


def log(line: str) -> None:
    """Write a line to the engine's log."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
