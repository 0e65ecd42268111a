"""Progress of the pipeline: jobs, micro-batches, backlog."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import polars as pl
from tables.query import Measure, Query, sums
from tables.table_cache import Ask

from lakehouse.contracts import TABLES
from lakehouse.contracts.lineage import upstream_jobs
from millrace.tables.stage_times import (
    EVENT_COLUMNS,
    LEDGER_COLUMNS,
    RECORD_COLUMNS,
    SPAN,
    recent_span,
    stage_times,
)

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
    upstream = upstream_jobs()
    reached = dict(found.select("job", "position").iter_rows())
    behind = [_behind(reached.get(upstream.get(job)), reached[job]) for job in found["job"]]
    return found.with_columns(behind=pl.Series(behind, dtype=pl.Float64)).sort(_place(), "job")


def job_names(rows: pl.DataFrame) -> list[str]:
    """The jobs that rows are of, in the order of the data flow; others after them."""
    return rows.select(pl.col("job").unique()).sort(_place(), "job")["job"].to_list()


def stale_tables(ask: Ask) -> frozenset[str]:
    """Tables whose writer is further behind the first job than their contract allows."""
    found = ask(Query("ops.ledger", ("job",), (Measure("position", "max", "position"),)))
    reached = dict(found.iter_rows())
    first = reached.get(next(iter(upstream_jobs())))
    behind = {job: timedelta(seconds=_behind(first, position) or 0) for job, position in reached.items()}
    limits = {table.name: table.stale_after for table in TABLES.values() if table.writer in behind}
    return frozenset(
        name for name, limit in limits.items() if limit is not None and behind[TABLES[name].writer] > limit
    )


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


@dataclass(frozen=True)
class StageTimes:
    """Times per stage of records with ingest stamps from `first` to `last`; see `stage_times`."""

    rows: pl.DataFrame
    records: int
    first: datetime
    last: datetime


def recent_stages(ask: Ask) -> tuple[datetime, datetime] | None:
    """First and last ingest stamp of the records that `times_of_stages` is about; None without records."""
    return recent_span(_recent_ledger(ask))


def times_of_stages(
    ask: Ask, span: tuple[datetime, datetime], shown: tuple[tuple[datetime, datetime], ...], now: datetime
) -> StageTimes:
    """Times per stage of the records with these ingest stamps.

    Args:
        ask: runs queries.
        span: first and last ingest stamp.
        shown: high-water mark and time of commits to gold.traffic.
        now: the current time.
    """
    records, events = (
        ask(query.only("ingested_at", ">=", span[0]).only("ingested_at", "<=", span[1]))
        for query in (Query("bronze.kafka_records", RECORD_COLUMNS), Query("silver.events", EVENT_COLUMNS))
    )
    rows = stage_times(_recent_ledger(ask), records, events, shown, now)
    return StageTimes(rows, len(records), *span)


def _recent_ledger(ask: Ask) -> pl.DataFrame:
    last = ask(Query("ops.ledger", (), (Measure("last", "max", "position"),)))["last"][0]
    rows = Query("ops.ledger", LEDGER_COLUMNS)
    return ask(replace(rows, limit=0) if last is None else rows.only("position", ">=", last - SPAN))


def latest_batches(ask: Ask) -> pl.DataFrame:
    """The last rows of the ledger, newest first."""
    columns = ("started_at", "job", "batch_id", *_COUNTED, "seconds", "watermark")
    last = latest_batch(ask)
    if last is None:
        return ask(Query("ops.ledger", columns, limit=0))
    query = Query("ops.ledger", columns, order=("-started_at", "job"), limit=_LATEST)
    return ask(query.only("started_at", ">=", last - timedelta(days=2)))


def _behind(before: datetime | None, ours: datetime | None) -> float | None:
    """How far one high-water mark is behind another, in seconds of ingest time."""
    return None if before is None or ours is None else max((before - ours).total_seconds(), 0.0)


def _place() -> pl.Expr:
    """The place of a job in the data flow; of other jobs, after all of these."""
    places = {job: place for place, job in enumerate(upstream_jobs())}
    return pl.col("job").replace_strict(places, default=len(places), return_dtype=pl.Int64)
