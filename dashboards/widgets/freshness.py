"""Freshness of the figures, from the ledger."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

import polars as pl
from tables.query import Measure, Query
from tables.table_cache import Ask

from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.lineage import upstream_jobs
from lakehouse.contracts.table import STALE_AFTER
from lakehouse.contracts.traffic import TRAFFIC

LIVE, IDLE, CATCHING_UP, STALE, NO_DATA = "Live", "Idle", "Catching up", "Stale", "No data yet"

_RECENT = timedelta(minutes=10)  # of the ledger are read: a few batches of every job, few files
_INGEST, _PUBLISH = KAFKA_RECORDS.writer, TRAFFIC.writer
_BEHIND = timedelta(seconds=60)  # of ingest time: summaries are updated every 30 s
_LEDGER = Query("ops.ledger", ("job", "started_at", "seconds", "watermark", "position"))


@dataclass(frozen=True)
class Progress:
    """Progress of the micro-batches. None means that there is no value yet.

    Args:
        watermark: figures are complete up to this event time.
        last_batch_at: end of the last micro-batch.
        behind: how far the last job is behind ingest, in ingest time.
    """

    watermark: datetime | None = None
    last_batch_at: datetime | None = None
    behind: timedelta | None = None


def progress(ask: Ask, position: int | None = None) -> Progress:
    """Read the progress from the latest rows of the ledger.

    Args:
        ask: runs queries.
        position: what the figures are as of, an ingest stamp in microseconds; later batches of publish are
            left out. None if that is not known.
    """
    last = ask(Query("ops.ledger", measures=(Measure("last", "max", "started_at"),)))["last"][0]
    if last is None:
        return Progress()
    jobs = _by_job(_until(ask(_LEDGER.only("started_at", ">=", last - _RECENT)), position))
    if not {_INGEST, _PUBLISH} <= jobs.keys():  # one of them has been idle for long, or has never run
        jobs = _by_job(_until(ask(_LEDGER), position))
    taken_in, done = (jobs[job].position if job in jobs else None for job in (_INGEST, _PUBLISH))
    watermarks = (jobs[job].watermark for job in (_PUBLISH, upstream_jobs()[_PUBLISH]) if job in jobs)
    return Progress(
        watermark=next(filter(None, watermarks), None),
        last_batch_at=max(job.ended_at for job in jobs.values()),
        behind=_behind(taken_in, done),
    )


def state(progress: Progress, events: int, now: datetime, is_running: bool | None = None) -> str:
    """The freshness state: one of `LIVE`, `IDLE`, `CATCHING_UP`, `STALE`, `NO_DATA`.

    Args:
        progress: progress from the ledger.
        events: number of rows of silver.events.
        now: the current time in UTC.
        is_running: whether the jobs run; None where that is not known (a workspace).
    """
    if events == 0:
        return NO_DATA
    is_behind = (progress.behind or timedelta()) > _BEHIND
    if progress.last_batch_at is None or now - progress.last_batch_at > STALE_AFTER:
        return STALE if is_behind or is_running is False or progress.last_batch_at is None else IDLE
    return CATCHING_UP if is_behind else LIVE


def _until(ledger: pl.DataFrame, position: int | None) -> pl.DataFrame:
    if position is None:
        return ledger
    shown = pl.col("position").dt.timestamp("us") <= position
    return ledger.filter((pl.col("job") != _PUBLISH) | shown)


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
