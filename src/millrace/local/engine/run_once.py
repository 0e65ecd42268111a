"""Runs jobs once, in a Spark application of this process."""

import time
from collections.abc import Sequence

from lakehouse.errors import MillraceError
from lakehouse.run.job import JobListener
from lakehouse.settings import Settings
from millrace.local.bundle.jobs import BundleJob
from millrace.local.engine.job_progress import console_watcher
from millrace.local.engine.run_history import mark_interrupted
from millrace.local.engine.spark_application import Application, spark_application
from millrace.local.engine.task_runner import TaskRunner
from millrace.shutdown_signal import GracefulShutdown


def run_once(settings: Settings, jobs: Sequence[BundleJob]) -> dict[str, float]:
    """Run jobs one after the other, each until it has caught up.

    Returns:
        Seconds by job, and `spark`, the seconds Spark took to start.

    Raises:
        MillraceError: if a job fails, or a signal ends it within ten seconds. Committed batches are kept; a
            new run continues after them.
    """
    clock = time.monotonic()
    with GracefulShutdown().on_signals() as ending, spark_application(settings) as application:
        ending.interrupt_by(application.kill)
        seconds = {"spark": round(time.monotonic() - clock, 3)}
        worker = TaskRunner(application, settings, ending.requested)
        for job in jobs:
            clock = time.monotonic()
            with console_watcher(job.name) as listener:
                _catch_up(worker, job, listener)
            seconds[job.name] = round(time.monotonic() - clock, 3)
    return seconds


def _catch_up(worker: TaskRunner, job: BundleJob, listener: JobListener) -> None:
    mark_interrupted(worker.settings.home, job.name)
    try:
        worker.run(job, "command", listener, once=True)
    except MillraceError:
        raise
    except Exception as error:
        if not worker.stop.is_set():
            raise _failure(worker.settings, worker.application, job.name, error) from error
    if worker.stop.is_set():
        raise MillraceError(f"{job.name} was stopped", "Run it again: it goes on where it stopped")


def _failure(settings: Settings, application: Application, job: str, error: Exception) -> MillraceError:
    if application.has_ended():
        return MillraceError(
            f"Spark's Java process ended while {job} ran",
            "Run the same command again: it goes on where it stopped, and nothing is lost",
        )
    what = " ".join(str(error).split())[:200]
    return MillraceError(
        f"{job} failed: {what}", f"See {settings.home / 'logs' / 'spark.log'}; then run it again"
    )
