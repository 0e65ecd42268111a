"""Runs a job of the bundle: its tasks in order, each with its parameters."""

import threading
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from lakehouse.errors import MillraceError
from lakehouse.run.job import JobContext, JobListener
from lakehouse.run.job_args import Parameters
from lakehouse.settings import Settings, load_settings
from millrace.local.bundle.jobs import BundleJob, Task
from millrace.local.engine.run_history import FAILED, STOPPED, SUCCEEDED, RunLog
from millrace.local.engine.spark_application import Application

_ONE_RUN: dict[str, threading.Lock] = defaultdict(threading.Lock)


class TaskRunner:
    """Runs jobs in an application.

    Args:
        application: the application that writes this home's tables.
        settings: the settings in force.
        stop: ends a run after the current micro-batch.
        turn_of: by job, a context manager around each micro-batch.
    """

    def __init__(
        self,
        application: Application,
        settings: Settings,
        stop: threading.Event,
        turn_of: Callable[[str], AbstractContextManager[object]] = lambda _: nullcontext(),
    ) -> None:
        self.application = application
        self.settings = settings
        self.stop = stop
        self._turn_of = turn_of

    def run(self, job: BundleJob, cause: str, listener: JobListener, once: bool = False) -> None:
        """Run a job to its end, with a record. Waits if the job is running already.

        Args:
            job: the job.
            cause: why it runs, for the record.
            listener: receives progress.
            once: catch up and stop, regardless of the tasks' parameters.

        Raises:
            MillraceError: if a task can't be run.
            Exception: any error of a task.
        """
        with _ONE_RUN[f"{self.settings.home}:{job.name}"]:
            log = RunLog(self.settings.home, job.name, cause, listener)
            try:
                for task in job.tasks:
                    if self.stop.is_set():
                        break
                    log.begin_task(task.key)
                    self._run_task(task, log, once)
            except BaseException as error:
                log.end(STOPPED if self.stop.is_set() else FAILED, error)
                raise
            log.end(STOPPED if self.stop.is_set() else SUCCEEDED)

    def _run_task(self, task: Task, log: RunLog, once: bool) -> None:
        given = parameters_of(task)
        own = load_settings(**{**self.settings.model_dump(exclude_none=True), **given.settings})
        session = self.application.spark.newSession()
        once = once or given.once
        turn = self._turn_of(task.job.name)
        task.job.body(JobContext(task.job.name, session, own, once, self.stop, log, turn))


def parameters_of(task: Task) -> Parameters:
    """Parameters of a task.

    Raises:
        MillraceError: if its entry point does not accept the parameters.
    """
    try:
        return task.job.parse(task.parameters)
    except SystemExit:
        raise MillraceError(
            f"{task.entry_point} does not take the parameters of task {task.key}",
            "Correct them in resources/",
        ) from None
