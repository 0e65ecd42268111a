"""Micro-batches: a job follows the job before it, ingest stamp by ingest stamp."""

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import Column
from pyspark.sql import functions as F

from lakehouse.instants import EPOCH
from lakehouse.job import Run
from lakehouse.ledger import Entry, Ledger, now


@dataclass(frozen=True)
class Batch:
    """What one micro-batch has to do: the rows whose ingest stamp is in (after, upto].

    Args:
        id: counts up from 0.
        after: ingest stamp done before.
        upto: ingest stamp done with this batch. A bronze commit has one stamp, so it is never split.
        rows: rows the job before read for these stamps.
        watermark: as the job itself left it; None before its first batch.
        upstream_watermark: as the job before left it at `upto`.
    """

    id: int
    after: datetime
    upto: datetime
    rows: int
    watermark: datetime | None = None
    upstream_watermark: datetime | None = None

    def covers(self, stamp: str = "ingested_at") -> Column:
        """The condition that a row is this batch's."""
        return (F.col(stamp) > F.lit(self.after)) & (F.col(stamp) <= F.lit(self.upto))


@dataclass(frozen=True)
class Outcome:
    """What came of a micro-batch, in rows; see the ledger's contract.

    `input_rows` is None for a job that reads all the rows of the job before.
    """

    input_rows: int | None = None
    output_rows: int = 0
    duplicates: int = 0
    rejected: int = 0
    heartbeats: int = 0
    erased: int = 0
    late: int = 0
    watermark: datetime | None = None


def follow(
    run: Run,
    upstream: str,
    process: Callable[[Batch], Outcome],
    holding: str | None = None,
    reached: datetime = EPOCH,
) -> None:
    """Process what the job before has done, batch after batch, and write the ledger.

    `process` may see the same rows again after a crash; each table it writes says how far it got.

    Args:
        run: the job that follows.
        upstream: the job before it.
        process: does one micro-batch.
        holding: a table that other jobs rewrite too; held while a batch and its ledger row are written.
        reached: ingest stamp that the job's tables are done up to. If the ledger is not as far, a batch was
            broken off, and is done again as it was: what came since may not join it, since what is late
            and what is over has been decided already.
    """
    ledger = Ledger(run.lake)
    last = ledger.last(run.job)
    while not run.stop.is_set():
        pending = ledger.after(upstream, last.position if last else EPOCH)
        batch = _next_batch(last, pending, run.settings.max_batch_rows, reached)
        if batch is None:
            if run.once:
                return
            run.stop.wait(run.settings.trigger_interval.total_seconds())
            continue
        run.expect(sum(entry.input_rows for entry in pending))
        with run.turn, run.lake.exclusive(holding) if holding else nullcontext():
            if run.stop.is_set():  # asked while waiting
                return
            last = _run_batch(run, ledger, batch, process)


def _next_batch(last: Entry | None, pending: list[Entry], max_rows: int, reached: datetime) -> Batch | None:
    """Whole upstream batches: those broken off, else as many as fit, one at least."""
    if not pending:
        return None
    taken, rows = pending[0], pending[0].input_rows
    begun = taken.position <= reached
    for entry in pending[1:]:
        if entry.position > reached if begun else rows + entry.input_rows > max_rows:
            break
        taken, rows = entry, rows + entry.input_rows
    return Batch(
        id=last.batch_id + 1 if last else 0,
        after=last.position if last else EPOCH,
        upto=taken.position,
        rows=rows,
        watermark=last.watermark if last else None,
        upstream_watermark=taken.watermark,
    )


def _run_batch(run: Run, ledger: Ledger, batch: Batch, process: Callable[[Batch], Outcome]) -> Entry:
    started_at, clock = now(), time.monotonic()
    outcome = process(batch)
    read = batch.rows if outcome.input_rows is None else outcome.input_rows
    entry = Entry(
        job=run.job,
        batch_id=batch.id,
        position=batch.upto,
        started_at=started_at,
        seconds=time.monotonic() - clock,
        **{**vars(outcome), "input_rows": read},
    )
    ledger.record(entry)
    run.advance(batch.rows, entry.seconds)
    return entry
