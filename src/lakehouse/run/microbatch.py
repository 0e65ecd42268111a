"""Micro-batches over ingest stamps: each job processes what the job upstream of it has committed."""

import time
from bisect import bisect_right
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import accumulate

from pyspark.sql import Column
from pyspark.sql import functions as F

from lakehouse.run.batch_counters import BatchCounter
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Entry, Ledger, now
from lakehouse.timestamps import EPOCH

_THROTTLE_FACTOR = 10  # a throttled job uses at most a tenth of the time,
_MAX_PAUSES = 4  # unless that is more than this many of its pauses


@dataclass(frozen=True)
class Batch:
    """A micro-batch: the rows whose ingest stamp is in (after, upto].

    Args:
        id: counts up from 0.
        after: high-water mark of the last batch.
        upto: high-water mark of this batch. A bronze commit has one stamp, so it is never split.
        rows: rows that the upstream job read for these stamps.
        watermark: the job's own after its last batch; None before its first.
        upstream_watermark: the upstream job's at `upto`.
        side_input_after: high-water mark of the side input at the last batch.
        side_input_upto: high-water mark of the side input at this batch.
        producers: promises of live producers after the job's last batch, as JSON; None if none was live.
    """

    id: int
    after: datetime
    upto: datetime
    rows: int
    watermark: datetime | None = None
    upstream_watermark: datetime | None = None
    side_input_after: datetime = EPOCH
    side_input_upto: datetime = EPOCH
    producers: str | None = None

    @property
    def has_side_input(self) -> bool:
        """Whether the side input has advanced since the last batch."""
        return self.side_input_upto > self.side_input_after


@dataclass(frozen=True)
class Outcome:
    """Row counts of a finished micro-batch; see the contract of ops.ledger.

    `input_rows` is None for a job that reads every row of the batch.
    """

    input_rows: int | None = None
    output_rows: int = 0
    duplicates: int = 0
    rejected: int = 0
    heartbeats: int = 0
    erased: int = 0
    late: int = 0
    watermark: datetime | None = None
    producers: str | None = None


def stamped_within(after: datetime, upto: datetime) -> Column:
    """A condition: the ingest stamp of a row is in (after, upto]."""
    stamp = F.col("ingested_at")
    return (stamp > F.lit(after)) & (stamp <= F.lit(upto))


def run_microbatches(
    run: JobContext,
    upstream: str,
    process: Callable[[Batch], Outcome],
    lock: str | None = None,
    processed_through: datetime = EPOCH,
    side_input: str | None = None,
    pause: timedelta | None = None,
    idle: Callable[[], None] | None = None,
    gate: Callable[[Batch], Batch | None] | None = None,
) -> None:
    """Run micro-batches over the output of an upstream job, and write a ledger row for each.

    After a crash `process` may get the same rows again: the high-water mark of each table shows what it has.

    Args:
        run: the job's context.
        upstream: the upstream job.
        process: processes one micro-batch.
        lock: a table that other jobs rewrite too; locked until a batch and its ledger row are written.
        processed_through: high-water mark of the job's tables. If it is ahead of the ledger, a batch was
            interrupted, and is repeated with the same rows: it has already decided which events are late.
        side_input: another job whose changes are an input as well. A continuous run waits for new rows to
            process with them, for the trigger interval at most.
        pause: minimum time between the starts of two batches; up to four times as long if the job takes more
            than a tenth of the time. None: no pause.
        idle: called when there is nothing to process.
        gate: returns the part of a batch that may be processed now, or None to ask again later.
    """
    ledger = Ledger(run.lake)
    source = _Source(run, ledger, upstream, side_input, processed_through)
    last = ledger.last(run.job)
    while not run.stop.is_set():
        began, sequence = time.monotonic(), ledger.sequence
        batch, done = source.next_batch(last), None
        if batch or idle:
            with run.slot, run.lake.exclusive(lock) if lock else nullcontext():
                if run.stop.is_set():  # set while waiting for the lock
                    return
                if ledger.sequence != sequence:  # rows arrived while waiting for the lock
                    batch = source.next_batch(last)
                if batch:
                    run.tune_for_batch(batch.rows)
                    done = _run_batch(run, ledger, batch, process, gate)
                elif idle:
                    idle()
        last = done or last
        if done is None and run.once:
            return
        if batch is None:
            ledger.wait(sequence, run.settings.trigger_interval.total_seconds(), run.stop)
        else:
            _throttle(run, began, _throttled_pause(pause, done) if done else run.settings.trigger_interval)


@dataclass
class _Source:
    """Plans the batches of a job; see `run_microbatches`."""

    run: JobContext
    ledger: Ledger
    upstream: str
    side_input: str | None
    processed_through: datetime
    waiting_since: float | None = None
    """When changes of the side input alone were first seen, on the monotonic clock."""

    def next_batch(self, last: Entry | None) -> Batch | None:
        """The batch after the last one, or None if there are no rows. Reports the backlog."""
        pending = self.ledger.after(self.upstream, last.position if last else EPOCH)
        most = self.run.settings.max_batch_rows
        batch = _next_batch(last, pending, most, self.processed_through)
        if self.side_input:
            batch = _with_side_input(batch, last, self.ledger.last(self.side_input))
        if batch is None or batch.upto > batch.after or self.run.once:
            self.waiting_since = None
        elif self.waiting_since is None:
            self.waiting_since = time.monotonic()
        if batch is None or self._can_wait():
            return None
        self.run.report_backlog(_rows(pending))
        return batch

    def _can_wait(self) -> bool:
        """Whether changes of the side input alone can wait for rows: a trigger interval at most."""
        if self.waiting_since is None:
            return False
        return time.monotonic() - self.waiting_since < self.run.settings.trigger_interval.total_seconds()


def _throttled_pause(pause: timedelta | None, done: Entry) -> timedelta | None:
    """The pause after a batch, from its start: ten times its duration, from `pause` to four times that."""
    wanted = _THROTTLE_FACTOR * timedelta(seconds=done.seconds)
    return min(max(pause, wanted), _MAX_PAUSES * pause) if pause else None


def _throttle(run: JobContext, began: float, pause: timedelta | None) -> None:
    """Sleep until the pause since `began`, on the monotonic clock, is over. Runs with `once` don't sleep."""
    if pause and not run.once:
        run.stop.wait(max(0.0, pause.total_seconds() - (time.monotonic() - began)))


def _next_batch(
    last: Entry | None, pending: list[Entry], max_rows: int, processed_through: datetime
) -> Batch | None:
    """The first batch of the pending entries."""
    if not pending:
        return None
    entries = _entries_of_one(pending, max_rows, processed_through)
    taken = entries[-1]
    return Batch(
        id=last.batch_id + 1 if last else 0,
        after=last.position if last else EPOCH,
        upto=taken.position,
        rows=_rows(entries),
        watermark=last.watermark if last else None,
        upstream_watermark=taken.watermark,
        producers=last.producers if last else None,
    )


def _entries_of_one(pending: list[Entry], max_rows: int, processed_through: datetime) -> list[Entry]:
    """Whole upstream batches: those of an interrupted batch, else at most `max_rows`, but at least one."""
    if pending[0].position <= processed_through:
        return [entry for entry in pending if entry.position <= processed_through]
    rows = list(accumulate(entry.input_rows for entry in pending))
    return pending[: max(1, bisect_right(rows, max_rows))]


def _rows(entries: list[Entry]) -> int:
    return sum(entry.input_rows for entry in entries)


def _with_side_input(batch: Batch | None, last: Entry | None, other: Entry | None) -> Batch | None:
    """The batch with the changes of the side input, or a batch of these alone after the first batch."""
    before = (last.heard if last else None) or EPOCH
    now_at = max(before, other.position if other else EPOCH)
    if batch is None and last is not None and now_at > before:
        batch = Batch(
            id=last.batch_id + 1,
            after=last.position,
            upto=last.position,
            rows=0,
            watermark=last.watermark,
            upstream_watermark=last.watermark,
            producers=last.producers,
        )
    return None if batch is None else replace(batch, side_input_after=before, side_input_upto=now_at)


def _run_batch(
    run: JobContext,
    ledger: Ledger,
    batch: Batch,
    process: Callable[[Batch], Outcome],
    gate: Callable[[Batch], Batch | None] | None,
) -> Entry | None:
    """Process what the gate admits, and write the ledger row. None if it admits nothing."""
    started_at, clock = now(), time.monotonic()
    counter = BatchCounter(run.spark, run.lake.counter)
    admitted = gate(batch) if gate else batch
    if admitted is None:
        counter.end()
        return None
    run.record_rules()
    outcome = process(admitted)
    run.record_rules()  # again: they may have changed before `process` read them
    read = admitted.rows if outcome.input_rows is None else outcome.input_rows
    seconds = time.monotonic() - clock
    entry = Entry(
        job=run.job,
        batch_id=admitted.id,
        position=admitted.upto,
        started_at=started_at,
        seconds=seconds,
        heard=admitted.side_input_upto if admitted.side_input_upto > EPOCH else None,
        **{**vars(outcome), **vars(counter.counts()), "input_rows": read},
    )
    ledger.record(entry)
    run.report_batch(admitted.rows, entry.seconds)
    return entry
