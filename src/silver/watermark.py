"""The watermark of refine after a micro-batch, from event times, heartbeats and promises of producers."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from folds.watermark import Fold, Liveness, Producers, PromiseRecord, RecordKey, fold_promises
from lakehouse.contracts.arrow import arrow_type
from lakehouse.rows.arrow_frames import rows_of
from lakehouse.timestamps import from_micros
from silver.dedup.classification import EVENT
from silver.dedup.classify import Counts

_KEY = RecordKey._fields
_TIMES = ("ingested_at", "timestamp")
_SWITCH = "struct<ingested_at: bigint, timestamp: bigint, topic: string, partition: int, offset: bigint>"
_FOLD = f"producers string, watermark bigint, at_first boolean, switches array<{_SWITCH}>"


class Progress(NamedTuple):
    """How far a job has come in event time.

    Args:
        watermark: None before the first event, heartbeat or promise.
        producers: promises of the live producers, as JSON; None if none is live.
    """

    watermark: datetime | None
    producers: str | None


def advance(before: Progress, classified: DataFrame, counts: Counts, delay: timedelta) -> Progress:
    """Find the progress after a micro-batch; the watermark never decreases.

    While no producer is live, the watermark is the latest time of events and heartbeats, less the delay. A
    time that was read while one was live does not count later either. Without a promise in the micro-batch,
    no record is read.

    Args:
        before: progress after the previous micro-batch.
        classified: output of `silver.dedup.classify.classify`. Checkpointed.
        counts: counts of these records.
        delay: how much earlier than the latest time the watermark is.
    """
    fold = _fold(before.producers, classified) if counts.promises else _unchanged(before.producers)
    latest = _latest_unpromised(classified, counts, fold.liveness)
    times = (
        before.watermark,
        None if fold.watermark is None else from_micros(fold.watermark),
        None if latest is None else from_micros(latest) - delay,
    )
    watermark = max((time for time in times if time is not None), default=None)
    return Progress(watermark, fold.producers.to_json())


def _unchanged(producers: str | None) -> Fold:
    return fold_promises(Producers.from_json(producers), ())


def _fold(producers: str | None, classified: DataFrame) -> Fold:
    """Fold the promises in one task. The driver gets one row: the live producers and the switches."""
    names = (*_KEY, "promise_source", "promised_at")

    def fold(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = fold_promises(Producers.from_json(producers), _promises(batches, names))
        switches = [key._asdict() for key in found.liveness.switches]
        yield pa.RecordBatch.from_pydict(
            {
                "producers": pa.array([found.producers.to_json()], pa.string()),
                "watermark": pa.array([found.watermark], pa.int64()),
                "at_first": pa.array([found.liveness.at_first], pa.bool_()),
                "switches": pa.array([switches], pa.list_(arrow_type(_SWITCH))),
            }
        )

    promises = classified.where(F.col("promise_source").isNotNull()).select(*map(_micros, names))
    row = promises.coalesce(1).mapInArrow(fold, _FOLD).collect()[0]
    switches = tuple(RecordKey(*key) for key in row.switches)
    return Fold(Producers.from_json(row.producers), row.watermark, Liveness(row.at_first, switches))


def _promises(batches: Iterable[pa.RecordBatch], names: tuple[str, ...]) -> Iterator[PromiseRecord]:
    for batch in batches:
        for *key, source, promised_at in rows_of(batch, names):
            yield PromiseRecord(RecordKey(*key), source, promised_at)


def _micros(name: str) -> Column:
    """A column of a record; times in microseconds."""
    return F.unix_micros(name).alias(name) if name in (*_TIMES, "promised_at") else F.col(name)


def _latest_unpromised(classified: DataFrame, counts: Counts, liveness: Liveness) -> int | None:
    """The latest time (microseconds) of the events and heartbeats read while no producer was live."""
    if liveness.is_constant:
        return None if liveness.at_first else counts.latest

    def latest(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"latest": pa.array([_latest(batch, liveness)], pa.int64())})

    event_time = F.when(F.col("record_class") == EVENT, F.col("event_time"))
    time = F.unix_micros(F.coalesce(event_time, "heartbeat_at")).alias("time")
    timed = classified.select(*map(_micros, _KEY), time).where(F.col("time").isNotNull())
    found: int | None = timed.mapInArrow(latest, "latest bigint").agg(F.max("latest")).collect()[0][0]
    return found


def _latest(rows: pa.RecordBatch, liveness: Liveness) -> int | None:
    """The latest of the times that were read while no producer was live; None if there is none."""
    timed = rows.filter(pc.is_valid(rows["time"]))
    found = (time for *key, time in rows_of(timed, (*_KEY, "time")) if not liveness.is_live_at(tuple(key)))
    return max(found, default=None)
