"""Waits until gold has what silver has: what an erasure and a rebuild of gold start from."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from datetime import datetime, timedelta

from gold.publish_job import publish
from lakehouse.contracts import LOCKS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.errors import MillraceError
from lakehouse.quality.gate_log import require_open
from lakehouse.run.draining import draining
from lakehouse.run.job import JobContext
from lakehouse.run.job_session import isolated_session
from lakehouse.run.ledger import Entry, Ledger
from lakehouse.timestamps import EPOCH
from silver.refine import high_water_marks
from silver.refine_job import refine
from silver.repair_job import repair

JOBS: dict[str, Callable[[JobContext], None]] = {"refine": refine, "repair": repair, "publish": publish}
"""The jobs that update silver and gold, in order."""

_STANDSTILL = timedelta(minutes=15)


def catch_up(run: JobContext) -> None:
    """Run these jobs until they have caught up."""
    for name, job in JOBS.items():
        job(replace(run, job=name, spark=isolated_session(run.spark), once=True))


@contextmanager
def caught_up(run: JobContext, stopped: MillraceError) -> Iterator[JobContext]:
    """Wait until the jobs have caught up, and hold the locks; yields a context without a slot.

    A continuous refine of this application is always ahead under a steady load. So refine starts no
    micro-batch any more once it has processed what had arrived when the wait began, and each of the others
    needs one more micro-batch, or a quarter of an hour has passed.

    Args:
        run: the job's context.
        stopped: what is raised if the job is stopped.

    Raises:
        MillraceError: if gold is held back, repair and publish make no progress, or the job was stopped.
    """
    ledger = Ledger(run.lake)
    wait = _Wait(run, ledger)
    with ExitStack() as drain:
        while not run.stop.is_set():
            require_open(run.lake)
            sequence = ledger.sequence
            if _is_caught_up(ledger):  # else the locks would keep the jobs from catching up
                with run.slot, run.lake.exclusive(*LOCKS["silver"]), run.lake.exclusive(*LOCKS["gold"]):
                    if _is_caught_up(ledger) and not _is_interrupted(run, ledger):
                        run.tune_for_batch(run.settings.max_batch_rows)
                        yield replace(run, slot=nullcontext())
                        return
            wait.report()
            if not wait.drains and wait.may_drain():
                drain.enter_context(draining(run.settings.warehouse))
                wait.drains = True
            ledger.wait(sequence, run.settings.trigger_interval.total_seconds(), run.stop)
    raise stopped


def wait_for_publish(run: JobContext) -> None:
    """Wait until publish has processed what refine and repair have now, or the job is stopped.

    Raises:
        MillraceError: if gold is held back, or repair and publish make no progress.
    """
    ledger = Ledger(run.lake)
    refined, repaired = (_position(ledger.last(job)) for job in ("refine", "repair"))
    wait = _Wait(run, ledger)
    while not run.stop.is_set():
        require_open(run.lake)
        sequence, published = ledger.sequence, ledger.last("publish")
        heard = (published.heard if published else None) or EPOCH
        if _position(published) >= refined and heard >= repaired:
            return
        wait.report()
        ledger.wait(sequence, run.settings.trigger_interval.total_seconds(), run.stop)


class _Wait:
    """The wait for the jobs.

    Args:
        run: the job's context.
        ledger: the ledger.

    Attributes:
        drains: whether refine starts no micro-batch.
    """

    def __init__(self, run: JobContext, ledger: Ledger) -> None:
        self._run = run
        self._ledger = ledger
        self._arrived = _position(ledger.last("ingest"))
        self._seen: list[int | None] = []
        self._began_at = self._advanced_at = time.monotonic()
        self._logged_at = -math.inf
        self.drains = False

    def may_drain(self) -> bool:
        """Whether refine has processed what had arrived, and the others should catch up with it now."""
        refined, *followers = map(self._ledger.last, JOBS)
        most, waited = self._run.settings.max_batch_rows, time.monotonic() - self._began_at
        is_near = all(self._backlog(each) <= most for each in followers)
        return _position(refined) >= self._arrived and (is_near or waited > _STANDSTILL.total_seconds())

    def report(self) -> None:
        """Log what is waited for, once per trigger interval.

        Raises:
            MillraceError: if repair and publish have made no progress for a quarter of an hour.
        """
        now, (_, *seen) = time.monotonic(), _batches(self._ledger)
        if seen != self._seen:
            self._seen, self._advanced_at = seen, now
        if now - self._advanced_at > _STANDSTILL.total_seconds():
            raise MillraceError(
                "repair and publish have not caught up, and made no progress for 15 minutes",
                "See with `millrace status` whether they run, and begin again",
            )
        if now - self._logged_at >= self._run.settings.trigger_interval.total_seconds():
            self._logged_at = now
            rows = max(map(self._backlog, map(self._ledger.last, list(JOBS)[1:])))
            behind = f": {rows:,} events" if rows else ""
            self._run.log(f"waiting until repair and publish have caught up{behind}")

    def _backlog(self, follower: Entry | None) -> int:
        return self._ledger.input_rows_after("refine", _position(follower))


def last_batches(lake: Lakehouse) -> list[int | None]:
    """The last micro-batch of each of these jobs, by the ledger."""
    return _batches(Ledger(lake))


def _batches(ledger: Ledger) -> list[int | None]:
    return [None if last is None else last.batch_id for last in map(ledger.last, JOBS)]


def _is_caught_up(ledger: Ledger) -> bool:
    """Whether repair and publish have what refine has, and publish what repair has changed."""
    refined, repaired, published = map(ledger.last, JOBS)
    if refined is None:
        return True
    if repaired is None or published is None:
        return False
    is_published = (published.heard or EPOCH) >= repaired.position
    return min(repaired.position, published.position) >= refined.position and is_published


def _is_interrupted(run: JobContext, ledger: Ledger) -> bool:
    """Whether tables have rows of a micro-batch of refine that has not ended."""
    lake = Lakehouse(run.spark, run.settings, "refine")
    return max(high_water_marks(lake).values()) > _position(ledger.last("refine"))


def _position(last: Entry | None) -> datetime:
    return last.position if last else EPOCH
