"""Micro-batches: a job follows the job before it, ingest stamp by ingest stamp."""

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lakehouse.run.batch_counters import BatchCounter
from lakehouse.run.job import Run
from lakehouse.run.ledger import Entry, Ledger, now
from lakehouse.timestamps import EPOCH

_SPARING = 10  # times as long as the last batch took, from its beginning, for a job that has a pause


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
        heard_after: ingest stamp up to which the job that is heard of besides had come at the last batch.
        heard_upto: how far that one is now.
    """

    id: int
    after: datetime
    upto: datetime
    rows: int
    watermark: datetime | None = None
    upstream_watermark: datetime | None = None
    heard_after: datetime = EPOCH
    heard_upto: datetime = EPOCH

    @property
    def hears_anything(self) -> bool:
        """Whether that job has come any further since."""
        return self.heard_upto > self.heard_after


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
    hearing: str | None = None,
    pause: timedelta | None = None,
    idle: Callable[[], None] | None = None,
    admits: Callable[[Batch], Batch | None] | None = None,
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
        hearing: another job, of what whose batches changed the job hears besides.
        pause: between the beginnings of two batches of a job that goes on; up to twice as long if it takes
            more than a tenth of the time. None: it begins as soon as it can.
        idle: called when nothing is left to be done.
        admits: asked before each batch what of it may be done now; None: it waits, and is asked about again.
    """
    ledger = Ledger(run.lake)
    source = _Source(run, ledger, upstream, hearing, reached)
    last = ledger.last(run.job)
    behind = ledger.rows_read(run.job) if last else 0
    while not run.stop.is_set():
        began, told = time.monotonic(), ledger.told
        batch, done = source.look(last), None
        if batch or idle:
            with run.turn, run.lake.exclusive(holding) if holding else nullcontext():
                if run.stop.is_set():  # asked while waiting
                    return
                if ledger.told != told:  # what came while waiting need not wait another round
                    batch = source.look(last)
                if batch:
                    run.prepare_for(batch.rows, behind)
                    admitted = admits(batch) if admits else batch
                    done = _run_batch(run, ledger, admitted, process) if admitted else None
                elif idle:
                    idle()
        last, behind = done or last, behind + (done.input_rows if done else 0)
        if done is None and run.once:
            return
        if batch is None:
            ledger.wait(told, run.settings.trigger_interval.total_seconds(), run.stop)
        else:
            _rest(run, began, _spared(pause, done) if done else run.settings.trigger_interval)


@dataclass(frozen=True)
class _Source:
    """Where a job's batches come from; see `follow`."""

    run: Run
    ledger: Ledger
    upstream: str
    hearing: str | None
    reached: datetime

    def look(self, last: Entry | None) -> Batch | None:
        """The batch that comes after the last one, if there is anything; says how much is waiting."""
        pending = self.ledger.after(self.upstream, last.position if last else EPOCH)
        batch = _next_batch(last, pending, self.run.settings.max_batch_rows, self.reached)
        if self.hearing:
            batch = _with_news(batch, last, self.ledger.last(self.hearing))
        if batch:
            self.run.expect(sum(entry.input_rows for entry in pending))
        return batch


def _spared(pause: timedelta | None, done: Entry) -> timedelta | None:
    """The pause of a job that has one: it leaves others nine tenths of the time, within bounds."""
    return min(max(pause, _SPARING * timedelta(seconds=done.seconds)), 2 * pause) if pause else None


def _rest(run: Run, began: float, pause: timedelta | None) -> None:
    """Wait until what began then, on the monotonic clock, is so long ago; not in a run that has an end."""
    if pause and not run.once:
        run.stop.wait(max(0.0, pause.total_seconds() - (time.monotonic() - began)))


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


def _with_news(batch: Batch | None, last: Entry | None, other: Entry | None) -> Batch | None:
    """The batch with what the other job has done since the last one; a batch of that alone, if need be.

    Nothing is heard alone before there has been a first batch.
    """
    heard = (last.heard if last else None) or EPOCH
    now_at = max(heard, other.position if other else EPOCH)
    if batch is None and last is not None and now_at > heard:
        batch = Batch(
            id=last.batch_id + 1,
            after=last.position,
            upto=last.position,
            rows=0,
            watermark=last.watermark,
            upstream_watermark=last.watermark,
        )
    return None if batch is None else replace(batch, heard_after=heard, heard_upto=now_at)


def _run_batch(run: Run, ledger: Ledger, batch: Batch, process: Callable[[Batch], Outcome]) -> Entry:
    started_at, clock = now(), time.monotonic()
    run.record_rules()
    counter = BatchCounter(run.spark, run.lake.counter)
    outcome = process(batch)
    run.record_rules()  # of what was changed before `process` read it
    read = batch.rows if outcome.input_rows is None else outcome.input_rows
    seconds = time.monotonic() - clock
    entry = Entry(
        job=run.job,
        batch_id=batch.id,
        position=batch.upto,
        started_at=started_at,
        seconds=seconds,
        heard=batch.heard_upto if batch.heard_upto > EPOCH else None,
        **{**vars(outcome), **vars(counter.counts()), "input_rows": read},
    )
    ledger.record(entry)
    run.advance(batch.rows, entry.seconds)
    return entry
