"""Micro-batches over ingest stamps: each job processes what the job upstream of it has committed."""

import time
from collections.abc import Callable
from contextlib import closing, nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import Column
from pyspark.sql import functions as F

from lakehouse.rows.checkpointing import released_at_end
from lakehouse.run.batch_counters import BatchCounter
from lakehouse.run.batch_source import Batch, BatchSource
from lakehouse.run.draining import pause_unless_draining, wait_until_drained
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Entry, Ledger, now
from lakehouse.timestamps import EPOCH

_THROTTLE_FACTOR = 10  # a throttled job uses at most a tenth of the time, unless its longest pause is shorter


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
    longest_pause: timedelta | None = None,
    idle: Callable[[], None] | None = None,
    gate: Callable[[Batch], Batch | None] | None = None,
    starts_while_draining: bool = True,
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
        pause: minimum time between the starts of two batches. None: no pause.
        longest_pause: what the pause grows to, while the job takes more than a tenth of the time. None: it
            does not grow.
        idle: called when there is nothing to process.
        gate: returns the part of a batch that may be processed now, or None to ask again later.
        starts_while_draining: whether batches start while another job waits for those downstream of refine.
            An interrupted one is repeated in any case.
    """
    ledger = Ledger(run.lake)
    source = BatchSource(run, ledger, upstream, side_input, processed_through)
    last = ledger.last(run.job)
    while _may_start(run, starts_while_draining or _is_interrupted(last, processed_through)):
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
                    with released_at_end(run.spark):
                        done = _run_batch(run, ledger, batch, process, gate)
                if idle and done is None and not _has_rows(batch):
                    idle()
        last = done or last
        if done is None and run.once:
            return
        if batch is None:
            ledger.wait(sequence, run.settings.trigger_interval.total_seconds(), run.stop)
        elif done is None:
            run.stop.wait(_left(began, run.settings.trigger_interval))
        else:
            _throttle(run, upstream, began, _throttled_pause(pause, longest_pause, done))


def _may_start(run: JobContext, starts_while_draining: bool) -> bool:
    """Wait until a batch may start. False if the job is stopped."""
    if not starts_while_draining:
        wait_until_drained(run.settings.warehouse, run.stop)
    return not run.stop.is_set()


def _has_rows(batch: Batch | None) -> bool:
    """Whether a batch has new rows, and not only changes of the side input."""
    return batch is not None and batch.upto > batch.after


def _is_interrupted(last: Entry | None, processed_through: datetime) -> bool:
    """Whether tables have rows of a batch without a ledger row."""
    return processed_through > (last.position if last else EPOCH)


def _throttled_pause(pause: timedelta | None, longest: timedelta | None, done: Entry) -> timedelta | None:
    """The pause after a batch, from its start: ten times its duration, within `pause` and `longest`."""
    if pause is None or longest is None:
        return pause
    return min(max(pause, _THROTTLE_FACTOR * timedelta(seconds=done.seconds)), longest)


def _throttle(run: JobContext, upstream: str, began: float, pause: timedelta | None) -> None:
    """Sleep until the pause since `began` is over. Runs with `once` don't sleep.

    Jobs downstream of refine end the pause when another job waits for them.
    """
    if pause is None or run.once:
        return
    if upstream == "refine":
        pause_unless_draining(run.settings.warehouse, _left(began, pause), run.stop)
    else:
        run.stop.wait(_left(began, pause))


def _left(began: float, pause: timedelta) -> float:
    """Seconds until the pause since `began`, on the monotonic clock, is over."""
    return max(0.0, pause.total_seconds() - (time.monotonic() - began))


def _run_batch(
    run: JobContext,
    ledger: Ledger,
    batch: Batch,
    process: Callable[[Batch], Outcome],
    gate: Callable[[Batch], Batch | None] | None,
) -> Entry | None:
    """Process what the gate admits, and write the ledger row. None if it admits nothing."""
    started_at, clock = now(), time.monotonic()
    with closing(BatchCounter(run.spark, run.lake.counter)) as counter:
        admitted = gate(batch) if gate else batch
        if admitted is None:
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
