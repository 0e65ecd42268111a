"""Runs refine and repair in one Spark application, for workspaces: both update the same tables."""

import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import replace

from lakehouse.run.job import JobContext
from lakehouse.run.job_session import isolated_session
from silver.refine_job import refine
from silver.repair_job import repair

_POLL_SECONDS = 0.5
_JOBS: dict[str, Callable[[JobContext], None]] = {"refine": refine, "repair": repair}


def refine_and_repair(run: JobContext) -> None:
    """Run both jobs until they have caught up, one of them ends or fails, or `run.stop` is set.

    The end of one stops the other. `run.stop` stays unset then, so that the caller may run both again.
    """
    stop = run.stop if run.once else threading.Event()
    runs = [
        (job, replace(run, job=name, spark=isolated_session(run.spark), stop=stop))
        for name, job in _JOBS.items()
    ]
    if run.once:
        for job, each in runs:
            job(each)
        return
    with ThreadPoolExecutor(len(_JOBS), "silver") as threads:
        running = [threads.submit(job, each) for job, each in runs]
        try:
            while not run.stop.is_set() and not wait(running, _POLL_SECONDS, FIRST_COMPLETED).done:
                pass
        finally:
            stop.set()
    for future in running:
        future.result()
