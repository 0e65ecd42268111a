"""Runs jobs on their schedules."""

import threading
from collections.abc import Callable, Sequence
from datetime import datetime

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from millrace.local.bundle.jobs import BundleJob
from millrace.local.bundle.quartz import quartz_trigger

_LATE_SECONDS = 3600
"""Grace time (s) of a start that was missed because the machine slept or was busy."""


class Schedules:
    """Runs scheduled jobs, one at a time.

    Args:
        jobs: jobs with a schedule; paused ones are ignored.
        begin: runs a job to its end.

    Raises:
        MillraceError: for a schedule that can't be parsed.
    """

    def __init__(self, jobs: Sequence[BundleJob], begin: Callable[[BundleJob], None]) -> None:
        self._begin = begin
        self._scheduler = BackgroundScheduler(
            executors={"default": ThreadPoolExecutor(1)},
            job_defaults={
                "coalesce": True,
                "max_instances": 1,
                "misfire_grace_time": _LATE_SECONDS,
            },
        )
        for job in jobs:
            if job.schedule and not job.is_paused:
                trigger = quartz_trigger(job.schedule.expression, job.schedule.time_zone)
                self._scheduler.add_job(begin, trigger, (job,), id=job.name)

    def start(self) -> None:
        """Start the scheduler."""
        self._scheduler.start()

    def begin_now(self, job: BundleJob) -> None:
        """Run a job outside its schedule, as soon as no other job runs."""
        self._scheduler.add_job(self._begin, args=(job,), id=f"{job.name} again", replace_existing=True)

    def next_time(self, name: str) -> datetime | None:
        """When a job starts next; None if it has no schedule."""
        known = self._scheduler.get_job(name)
        return getattr(known, "next_run_time", None) if known else None

    def stop(self) -> None:
        """Stop the scheduler. Running jobs are stopped by their event."""
        threading.Thread(target=self._scheduler.shutdown, kwargs={"wait": False}, daemon=True).start()
