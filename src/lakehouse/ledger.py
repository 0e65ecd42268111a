"""One row a micro-batch: what came in, what went out, how far it got.

The ledger is also how a job learns of new work: each row says up to which ingest stamp its job is
done, so the next job in line follows the rows of the one before it.
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from pyspark.sql import Row
from pyspark.sql import functions as F

from lakehouse.contracts import TABLES
from lakehouse.instants import as_utc
from lakehouse.recall import Recall, recall_of
from lakehouse.tables import Lakehouse

NAME = "ops.ledger"
_RECENT = 500  # rows looked through before all are


@dataclass(frozen=True)
class Entry:
    """A row of the ledger. Counts are rows; `position` and `heard` are ingest stamps."""

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


class Ledger:
    """The ledger as one job reads and writes it."""

    def __init__(self, lake: Lakehouse) -> None:
        self._lake = lake
        self._recall: Recall[Entry] | None = recall_of(lake.settings)

    def last(self, job: str) -> Entry | None:
        """The job's latest row."""
        if self._recall is None:
            return self._read_last(job)
        return self._recall.last(job, self._read_last)

    def after(self, job: str, position: datetime) -> list[Entry]:
        """The job's rows whose position lies after the one given, in order."""
        if self._recall is not None:
            known = self._recall.after(job, position, self._read_last)
            if known is not None:
                return known
        rows = self._lake.read(NAME).where((F.col("job") == job) & (F.col("position") > F.lit(position)))
        return sorted(_entries(rows.collect()), key=lambda entry: (entry.position, entry.batch_id))

    @property
    def told(self) -> int:
        """How many rows have been recorded, as far as that can be heard here."""
        return self._recall.told if self._recall else 0

    def wait(self, told: int, seconds: float, stop: threading.Event) -> None:
        """Wait until more than so many have been; so long at most."""
        if self._recall is None:
            stop.wait(seconds)
        else:
            self._recall.wait(told, seconds, stop)

    def positions(self) -> dict[str, datetime]:
        """By job, the ingest stamp that it is done up to."""
        rows = self._lake.read(NAME).groupBy("job").agg(F.max("position").alias("position")).collect()
        return {row.job: as_utc(row.position) for row in rows if row.position is not None}

    def since(self, job: str, position: datetime) -> tuple[Entry | None, list[Entry]]:
        """The job's last row up to a position, if there is one, and those after it, in order."""
        ours = self._lake.read(NAME).where(F.col("job") == job).orderBy(F.desc("batch_id"))
        for rows in (ours.limit(_RECENT), ours):
            entries = sorted(_entries(rows.collect()), key=lambda entry: (entry.position, entry.batch_id))
            before = [entry for entry in entries if entry.position <= position]
            if before or len(entries) < _RECENT:
                break
        return before[-1] if before else None, entries[len(before) :]

    def latest(self, job: str, rows: int) -> list[Entry]:
        """The job's latest rows that read so many rows together, or all, in order."""
        found = self._lake.read(NAME).where(F.col("job") == job).orderBy(F.desc("batch_id")).limit(_RECENT)
        taken: list[Entry] = []
        for entry in sorted(_entries(found.collect()), key=lambda entry: -entry.batch_id):
            taken.insert(0, entry)
            if sum(each.input_rows for each in taken) >= rows:
                break
        return taken

    def rows_read(self, job: str) -> int:
        """Rows that the job has read so far, all told."""
        found = self._lake.read(NAME).where(F.col("job") == job).agg(F.sum("input_rows").alias("rows"))
        return found.collect()[0].rows or 0

    def record(self, entry: Entry) -> None:
        """Write a row."""
        # literals, since rows that Python hands over are read by a Python process that has to start first
        values = [
            F.lit(getattr(entry, column.name)).cast(column.type).alias(column.name)
            for column in TABLES[NAME].columns
        ]
        self._lake.append(NAME, self._lake.spark.range(1).coalesce(1).select(*values))
        if self._recall is not None:
            self._recall.add(entry)

    def _read_last(self, job: str) -> Entry | None:
        rows = self._lake.read(NAME).where(F.col("job") == job).orderBy(F.desc("batch_id")).limit(1)
        return next(iter(_entries(rows.collect())), None)


def now() -> datetime:
    """The wall clock, which only provenance may use."""
    return datetime.now(timezone.utc)


def _entries(rows: Iterable[Row]) -> list[Entry]:
    return [Entry(**{name: _read(value) for name, value in row.asDict().items()}) for row in rows]


def _read(value: Any) -> Any:
    return as_utc(value) if isinstance(value, datetime) else value
