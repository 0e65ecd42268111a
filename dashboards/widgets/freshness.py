"""Freshness of the figures, from the ledger."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

import polars as pl
from tables.query import Measure, Query
from tables.table_cache import Ask

LIVE, CATCHING_UP, STALE, NO_DATA = "Live", "Catching up", "Stale", "No data yet"

_RECENT = timedelta(minutes=10)  # of ledger read: enough rows of every job, few files
_QUIET = timedelta(minutes=2)  # without a micro-batch: longer than one takes, even when catching up
_BEHIND = timedelta(seconds=30)  # of ingest stamps: more than a batch in flight
_LEDGER = Query("ops.ledger", ("job", "started_at", "seconds", "watermark", "position"))


@dataclass(frozen=True)
class Progress:
    """How far the micro-batches have come. None stands for not yet.

    Args:
        watermark: complete up to this event time.
        last_batch_at: end of the last micro-batch.
        behind: how much of what has come in the last job has yet to do, in ingest time.
    """

    watermark: datetime | None = None
    last_batch_at: datetime | None = None
    behind: timedelta | None = None


def progress(ask: Ask) -> Progress:
    """Read the ledger's end."""
    last = ask(Query("ops.ledger", measures=(Measure("last", "max", "started_at"),)))["last"][0]
    if last is None:
        return Progress()
    jobs = _by_job(ask(_LEDGER.only("started_at", ">=", last - _RECENT)))
    if not {"ingest", "publish"} <= jobs.keys():  # one of them has been still for long, or never ran
        jobs = _by_job(ask(_LEDGER))
    taken_in, done = (jobs[job].position if job in jobs else None for job in ("ingest", "publish"))
    watermarks = (jobs[job].watermark for job in ("publish", "refine") if job in jobs)
    return Progress(
        watermark=next(filter(None, watermarks), None),
        last_batch_at=max(job.ended_at for job in jobs.values()),
        behind=_behind(taken_in, done),
    )


def state(progress: Progress, events: int, now: datetime) -> str:
    """One word for it.

    Args:
        progress: what the ledger says.
        events: rows of silver.events.
        now: the wall clock, in UTC.
    """
    if events == 0:
        return NO_DATA
    if progress.last_batch_at is None or now - progress.last_batch_at > _QUIET:
        return STALE
    return CATCHING_UP if (progress.behind or timedelta()) > _BEHIND else LIVE


class _Job(NamedTuple):
    position: datetime | None
    watermark: datetime | None
    ended_at: datetime


def _by_job(ledger: pl.DataFrame) -> dict[str, _Job]:
    ended = pl.col("started_at") + pl.duration(microseconds=(pl.col("seconds") * 1e6).cast(pl.Int64))
    jobs = ledger.group_by("job").agg(
        pl.col("position").max(), pl.col("watermark").max(), ended.max().alias("ended_at")
    )
    return {job: _Job(*rest) for job, *rest in jobs.iter_rows()}


def _behind(taken_in: datetime | None, done: datetime | None) -> timedelta | None:
    if taken_in is None:
        return None
    return timedelta.max if done is None else max(taken_in - done, timedelta())
