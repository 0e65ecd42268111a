"""Reads tables without a JVM, for `status`, `audit` and `sql`."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import polars as pl
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from lakehouse.contracts import TABLES
from lakehouse.contracts.lineage import OPTIONAL_JOBS, upstream_jobs
from lakehouse.delta.log_files import commit_file, latest_version, read_metadata
from lakehouse.settings import Settings
from lakehouse.timestamps import EPOCH, LAST, as_utc
from millrace.tables.pins import pinned_versions

_SUMS = ("input_rows", "output_rows", "duplicates", "rejected", "heartbeats", "erased", "late", "seconds")


def table_path(settings: Settings, name: str) -> Path:
    """The folder of a local table."""
    layer, short = name.split(".")
    return settings.warehouse / layer / short


def open_table(settings: Settings, name: str) -> DeltaTable | None:
    """A table at its pinned version, else its latest; None if nothing has been written to it yet."""
    versions = pinned_versions()
    if name in versions and versions[name] is None:
        return None
    try:
        return DeltaTable(table_path(settings, name), version=versions.get(name))
    except (TableNotFoundError, FileNotFoundError):
        return None


def created_at(settings: Settings, name: str) -> datetime:
    """When a table was created, to the millisecond; `LAST` if it does not exist."""
    table = open_table(settings, name)
    return LAST if table is None else EPOCH + timedelta(milliseconds=table.metadata().created_time or 0)


def scan(settings: Settings, name: str) -> pl.LazyFrame | None:
    """The table as a lazy frame, which reads only the needed columns and rows; None if it does not exist."""
    table = open_table(settings, name)
    return None if table is None else pl.scan_delta(table)


def commits(settings: Settings, name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Version and metadata of the commits to a table that its log still has, the latest first."""
    folder, versions = table_path(settings, name), pinned_versions()
    version = versions[name] if name in versions else latest_version(folder)
    while version is not None and commit_file(folder, version).exists():
        yield version, read_metadata(folder, version)
        version -= 1


def last_commit(settings: Settings, name: str, job: str) -> Mapping[str, Any]:
    """Metadata of a job's last commit to a table; empty if the log has none."""
    return next((each for _, each in commits(settings, name) if each.get("job") == job), {})


def table_rows(settings: Settings) -> dict[str, int]:
    """Number of rows by table, from Delta's statistics; 0 for a missing table."""
    return {name: row_count(settings, name) for name in TABLES}


def row_count(settings: Settings, name: str) -> int:
    """Number of rows of a table, from Delta's statistics; 0 for a missing table."""
    table = open_table(settings, name)
    return 0 if table is None else int(table.count())


def rows_by_topic(settings: Settings) -> dict[str, dict[str, int]]:
    """By topic: records in bronze; events, duplicates, rejected, rates, costs in silver."""
    names = {
        "records": "bronze.kafka_records",
        "events": "silver.events",
        "duplicates": "silver.duplicate_events",
        "rejected": "silver.rejected_events",
        "rates": "silver.exchange_rates",
        "costs": "silver.cost_records",
    }
    counts: dict[str, dict[str, int]] = {}
    for what, name in names.items():
        rows = scan(settings, name)
        if rows is not None:
            for topic, count in rows.group_by("topic").len().sort("topic").collect().rows():
                counts.setdefault(topic, {})[what] = count
    return counts


def without_rate(settings: Settings) -> int:
    """Number of conversions and refunds whose value has no rate to the reporting currency."""
    conversions = scan(settings, "gold.conversions")
    if conversions is None:
        return 0
    lacking = pl.col("value").is_not_null() & pl.col("reporting_value").is_null()
    return int(conversions.select(lacking.sum()).collect().item())


def ledger_sums(settings: Settings) -> dict[str, dict[str, Any]]:
    """By job: sums of the ledger's counts, number of `batches`, high-water marks and `last_batch_at`."""
    ledger = scan(settings, "ops.ledger")
    if ledger is None:
        return {}
    sums = ledger.group_by("job").agg(
        *(pl.col(name).sum() for name in _SUMS),
        pl.len().alias("batches"),
        pl.col("watermark").max(),
        pl.col("position").max(),
        *(pl.col(name).max() for name in ("heard",) if name in ledger.collect_schema()),
        (pl.col("started_at") + pl.duration(microseconds=pl.col("seconds") * 1e6))
        .max()
        .alias("last_batch_at"),
    )
    return {row.pop("job"): row for row in sums.sort("job").collect().to_dicts()}


def behind(settings: Settings) -> dict[str, dict[str, Any]]:
    """The lag of each job that has an upstream job, by job.

    Returns:
        `upstream`, the upstream job; the waiting `rows` and, of these, `late` ones; `since`, when the oldest
        was ready (None if none waits); `seconds`, the time since then.
    """
    ledger = scan(settings, "ops.ledger")
    if ledger is None:
        return {}
    jobs, columns = upstream_jobs(), ("job", "position", "input_rows", "late", "started_at", "seconds")
    rows = ledger.select(columns).filter(pl.col("job").is_in(list(jobs))).collect()
    reached = dict(rows.group_by("job").agg(pl.col("position").max()).rows())
    return {
        job: {"upstream": upstream, **_waiting(rows.filter(pl.col("job") == upstream), reached.get(job))}
        for job, upstream in jobs.items()
        if upstream in reached and (job in reached or job not in OPTIONAL_JOBS)
    }


def _waiting(done: pl.DataFrame, reached: datetime | None) -> dict[str, Any]:
    waiting = done if reached is None else done.filter(pl.col("position") > reached)
    ready = (pl.col("started_at") + pl.duration(microseconds=pl.col("seconds") * 1e6)).min()
    found = waiting.select(
        pl.col("input_rows").sum().alias("rows"), pl.col("late").sum(), ready.alias("since")
    ).row(0, named=True)
    age = (datetime.now(timezone.utc) - as_utc(found["since"])).total_seconds() if found["since"] else 0.0
    return {**found, "seconds": round(max(age, 0.0), 1)}


def rows_between(settings: Settings, after: datetime | None, upto: datetime) -> int:
    """Number of rows in bronze with ingest stamps after one and up to another, from the ledger."""
    ledger = scan(settings, "ops.ledger")
    if ledger is None:
        return 0
    ours = (pl.col("job") == "ingest") & (pl.col("position") <= upto)
    if after is not None:
        ours &= pl.col("position") > after
    return int(ledger.filter(ours).select(pl.col("input_rows").sum()).collect().item())
