"""The ledger: one row per micro-batch, with row counts and high-water mark.

A job also finds new work in the ledger: each row has the ingest stamp that its job has processed through, so
a downstream job follows the rows of its upstream job.
"""

import threading
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts import TABLES
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.arrow_frames import rows_of
from lakehouse.run.ledger_cache import MOST_ROWS, LedgerCache, ledger_cache_of
from lakehouse.timestamps import from_micros

NAME = "ops.ledger"
_RECENT = 500  # rows that are searched first
_TIMES = {column.name for column in TABLES[NAME].columns if column.type == "timestamp"}


@dataclass(frozen=True)
class Entry:
    """A row of the ledger. Counts are rows; `position` and `heard` are ingest stamps.

    The last ones, from `spark_jobs`, are those of `lakehouse.run.batch_counters.Counts`.
    """

    job: str
    batch_id: int
    position: datetime
    started_at: datetime
    seconds: float
    input_rows: int
    output_rows: int = 0
    duplicates: int = 0
    rejected: int = 0
    heartbeats: int = 0
    erased: int = 0
    late: int = 0
    watermark: datetime | None = None
    heard: datetime | None = None
    producers: str | None = None
    spark_jobs: int | None = None
    shuffles: int | None = None
    tasks: int | None = None
    task_seconds: float | None = None
    commits: int | None = None
    table_reads: int | None = None


class Ledger:
    """Reads and writes the ledger for one job."""

    def __init__(self, lake: Lakehouse) -> None:
        self._lake = lake
        self._recall: LedgerCache[Entry] | None = ledger_cache_of(lake.settings)

    def last(self, job: str) -> Entry | None:
        """The job's latest row."""
        if self._recall is None:
            return self._read_last(job)
        return self._recall.last(job, self._read_last)

    def after(self, job: str, position: datetime) -> list[Entry]:
        """The job's first rows with a later position, `MOST_ROWS` at most, in order."""
        if self._recall is not None:
            known = self._recall.after(job, position, self._read_last)
            if known is not None:
                return known
        return _in_order(self._rows(job, position, MOST_ROWS))

    @property
    def sequence(self) -> int:
        """Number of rows added by this application; constant if others may add some."""
        return self._recall.sequence if self._recall else 0

    def wait(self, sequence: int, seconds: float, stop: threading.Event) -> None:
        """Wait until a row is added, `stop` is set, or the time is over."""
        if self._recall is None:
            stop.wait(seconds)
        else:
            self._recall.wait(sequence, seconds, stop)

    def positions(self) -> dict[str, datetime]:
        """By job, its high-water mark."""
        latest = F.max("position").alias("position")
        found = self._lake.find(NAME, lambda rows: rows.groupBy("job").agg(latest))
        return {job: from_micros(at) for job, at in rows_of(found, ("job", "position")) if at is not None}

    def since(self, job: str, position: datetime) -> tuple[Entry | None, list[Entry]]:
        """The job's last row up to a position, and those after it, in order."""
        recent = self._latest(job, _RECENT)
        before = [entry for entry in recent if entry.position <= position]
        if before or len(recent) < _RECENT:
            return before[-1] if before else None, recent[len(before) :]
        last = self._latest(job, 1, F.col("position") <= F.lit(position))
        return next(iter(last), None), _in_order(self._rows(job, position))

    def latest(self, job: str, rows: int) -> list[Entry]:
        """The job's latest micro-batches that together read at least this number of rows, in order."""
        taken: list[Entry] = []
        for entry in reversed(self._latest(job, _RECENT)):
            taken.insert(0, entry)
            if sum(each.input_rows for each in taken) >= rows:
                break
        return taken

    def record(self, entry: Entry) -> None:
        """Append a row."""
        self._lake.append(NAME, pa.Table.from_pylist([vars(entry)], arrow_schema(TABLES[NAME])))
        if self._recall is not None:
            self._recall.add(entry)

    def _read_last(self, job: str) -> Entry | None:
        return next(iter(self._latest(job, 1)), None)

    def _latest(self, job: str, most: int, condition: Column | None = None) -> list[Entry]:
        """The job's latest rows that satisfy a condition, in order."""
        of_job = F.col("job") == job
        is_wanted = of_job if condition is None else of_job & condition

        def latest(rows: DataFrame) -> DataFrame:
            chosen = rows.where(is_wanted).orderBy(F.desc("batch_id")).limit(most)
            return chosen.select(*TABLES[NAME].column_names)

        return _in_order(self._lake.find(NAME, latest))

    def input_rows_after(self, job: str, position: datetime) -> int:
        """Number of rows that the job has read after a position."""
        is_later = (F.col("job") == job) & (F.col("position") > F.lit(position))
        rows = F.sum("input_rows").alias("rows")
        found = self._lake.find(NAME, lambda table: table.where(is_later).agg(rows))
        return sum(count or 0 for (count,) in rows_of(found, ("rows",)))

    def _rows(self, job: str, after: datetime, most: int | None = None) -> pa.Table:
        """A job's rows after a position: all, or the first ones."""
        is_wanted = (F.col("job") == job) & (F.col("position") > F.lit(after))

        def later(rows: DataFrame) -> DataFrame:
            chosen = rows.where(is_wanted).select(*TABLES[NAME].column_names)
            return chosen if most is None else chosen.orderBy("position", "batch_id").limit(most)

        return self._lake.find(NAME, later)


def now() -> datetime:
    """The wall clock; only provenance columns may use it."""
    return datetime.now(timezone.utc)


def _in_order(rows: pa.Table) -> list[Entry]:
    return sorted(_entries(rows), key=lambda entry: (entry.position, entry.batch_id))


def _entries(rows: pa.Table) -> list[Entry]:
    return [Entry(**{name: _read(name, value) for name, value in row.items()}) for row in rows.to_pylist()]


def _read(name: str, value: Any) -> Any:
    return from_micros(value) if name in _TIMES and value is not None else value
