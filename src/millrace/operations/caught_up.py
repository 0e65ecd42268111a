"""Holds the locks of silver and gold while gold has what silver has: what an erasure starts from."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace

from gold.publish_job import publish
from lakehouse.contracts import LOCKS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.errors import MillraceError
from lakehouse.quality.gate_log import require_open
from lakehouse.run.job import JobContext
from lakehouse.run.job_session import isolated_session
from lakehouse.run.ledger import Ledger
from silver.refine_job import refine
from silver.repair_job import repair

JOBS: dict[str, Callable[[JobContext], None]] = {"refine": refine, "repair": repair, "publish": publish}
"""The jobs that update silver and gold, in order."""


def catch_up(run: JobContext) -> None:
    """Run these jobs until they have caught up."""
    for name, job in JOBS.items():
        job(replace(run, job=name, spark=isolated_session(run.spark), once=True))


@contextmanager
def caught_up(run: JobContext, stopped: MillraceError) -> Iterator[JobContext]:
    """Wait until the jobs have caught up, and hold the locks; yields a context without a slot.

    Args:
        run: the job's context.
        stopped: what is raised if the job is stopped.

    Raises:
        MillraceError: if gold is held back, or the job was stopped.
    """
    while not run.stop.is_set():
        require_open(run.lake)
        with run.slot, run.lake.exclusive(*LOCKS["silver"]), run.lake.exclusive(*LOCKS["gold"]):
            if _is_caught_up(Ledger(run.lake)):
                run.tune_for_batch(run.settings.max_batch_rows)
                yield replace(run, slot=nullcontext())
                return
        run.log("waiting until repair and publish have caught up")
        run.stop.wait(run.settings.trigger_interval.total_seconds())
    raise stopped


def last_batches(lake: Lakehouse) -> list[int | None]:
    """The last micro-batch of each of these jobs, by the ledger."""
    return [None if last is None else last.batch_id for last in map(Ledger(lake).last, JOBS)]


def _is_caught_up(ledger: Ledger) -> bool:
    refined, *followers = map(ledger.last, JOBS)
    return refined is None or all(each and each.position >= refined.position for each in followers)
