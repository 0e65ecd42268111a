"""Progress of the pipeline: jobs, micro-batches, backlog."""

from datetime import datetime, timedelta

import polars as pl
from tables.query import Measure, Query, sums
from tables.table_cache import Ask

JOBS = ("ingest", "refine", "repair", "publish")
FOLLOWS = {"refine": "ingest", "repair": "refine", "publish": "refine"}

_LATEST = 50
_BARS = 120
_COUNTED = ("input_rows", "output_rows", "duplicates", "rejected", "late")


def latest_batch(ask: Ask) -> datetime | None:
    """When the last micro-batch started, by the machine's clock."""
    last: datetime | None = ask(Query("ops.ledger", (), (Measure("last", "max", "started_at"),)))["last"][0]
    return last


def jobs(ask: Ask) -> pl.DataFrame:
    """One row per job: batches, row counts, watermark, position, behind (s of ingest time), last_batch."""
    measures = (
        Measure("batches", "count"),
        *sums(*_COUNTED),
        Measure("watermark", "max", "watermark"),
        Measure("position", "max", "position"),
        Measure("last_batch", "max", "started_at"),
    )
    found = ask(Query("ops.ledger", ("job",), measures))
    reached = dict(found.select("job", "position").iter_rows())
    behind = [_behind(reached, job) for job in found["job"]]
    order = [JOBS.index(job) if job in JOBS else len(JOBS) for job in found["job"]]
    batches = found.with_columns(
        behind=pl.Series(behind, dtype=pl.Float64), order=pl.Series(order, dtype=pl.Int64)
    )
    return batches.sort("order", "job").drop("order")


def batches(ask: Ask, length: timedelta) -> pl.DataFrame:
    """Micro-batches up to the latest, by time: at, job, seconds (the slowest), rows, late_share."""
    last = latest_batch(ask)
    columns = ("job", "started_at", "seconds", "input_rows", "late")
    if last is None:
        rows = ask(Query("ops.ledger", columns, limit=0))
    else:
        rows = ask(Query("ops.ledger", columns).only("started_at", ">=", last - length))
    step = timedelta(seconds=max(int(length.total_seconds()) // _BARS, 5))
    late, taken = pl.col("late").sum(), pl.col("input_rows").sum()
    return (
        rows.group_by(pl.col("started_at").dt.truncate(step).alias("at"), "job")
        .agg(
            seconds=pl.col("seconds").max(),
            rows=taken,
            late_share=pl.when(taken > 0).then(late / taken),
        )
        .sort("at", "job")
    )


def latest_batches(ask: Ask) -> pl.DataFrame:
    """The last rows of the ledger, newest first."""
    columns = ("started_at", "job", "batch_id", *_COUNTED, "seconds", "watermark")
    last = latest_batch(ask)
    if last is None:
        return ask(Query("ops.ledger", columns, limit=0))
    query = Query("ops.ledger", columns, order=("-started_at", "job"), limit=_LATEST)
    return ask(query.only("started_at", ">=", last - timedelta(days=2)))


def _behind(reached: dict[str, datetime | None], job: str) -> float | None:
    """How far a job is behind its upstream job, in seconds of ingest time."""
    before, ours = reached.get(FOLLOWS.get(job, "")), reached.get(job)
    return None if before is None or ours is None else max((before - ours).total_seconds(), 0.0)
