"""Runs refine and repair in one Spark application, for workspaces: both update the same tables."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from lakehouse.run.job import JobContext
from lakehouse.run.job_session import isolated_session
from silver.refine_job import refine
from silver.repair_job import repair

_JOBS: dict[str, Callable[[JobContext], None]] = {"refine": refine, "repair": repair}


def refine_and_repair(run: JobContext) -> None:
    """Run both jobs until they have caught up, one of them fails, or `stop` is set."""
    runs = {name: replace(run, job=name, spark=isolated_session(run.spark)) for name in _JOBS}
    if run.once:
        for name, job in _JOBS.items():
            job(runs[name])
        return
    with ThreadPoolExecutor(len(_JOBS), "silver") as threads:
        running = [
            threads.submit(_run_until_stopped, job, runs[name], run.stop) for name, job in _JOBS.items()
        ]
    for each in running:
        each.result()


def _run_until_stopped(job: Callable[[JobContext], None], run: JobContext, stop: threading.Event) -> None:
    """Run a job; when it ends or fails, stop the other job."""
    try:
        job(run)
    finally:
        stop.set()
