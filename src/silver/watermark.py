"""The watermark of refine after a micro-batch, from event times, heartbeats and promises of producers."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.watermark import Liveness, Producers, PromiseRecord, RecordKey, fold_promises
from lakehouse.rows.arrow_frames import rows_of
from lakehouse.rows.driver_or_spark import Rows, on_driver
from lakehouse.timestamps import as_utc, from_micros
from silver.dedup.classification import EVENT
from silver.dedup.classify import Counts

_KEY = RecordKey._fields
_TIMES = ("ingested_at", "timestamp")


class Progress(NamedTuple):
    """How far a job has come in event time.

    Args:
        watermark: None before the first event, heartbeat or promise.
        producers: promises of the live producers, as JSON; None if none is live.
    """

    watermark: datetime | None
    producers: str | None


def advance(before: Progress, classified: Rows, counts: Counts, delay: timedelta) -> Progress:
    """Find the progress after a micro-batch; the watermark never decreases.

    While no producer is live, the watermark is the latest time of events and heartbeats, less the delay. A
    time that was read while one was live does not count later either. Without a promise in the micro-batch,
    no record is read.

    Args:
        before: progress after the previous micro-batch.
        classified: output of `silver.dedup.classify.classify`.
        counts: counts of these records.
        delay: how much earlier than the latest time the watermark is.
    """
    producers = Producers.from_json(before.producers)
    fold = fold_promises(producers, _promises(classified) if counts.promises else ())
    latest = _latest_unpromised(classified, counts, fold.liveness)
    times = (
        before.watermark,
        None if fold.watermark is None else from_micros(fold.watermark),
        None if latest is None else as_utc(latest) - delay,
    )
    watermark = max((time for time in times if time is not None), default=None)
    return Progress(watermark, fold.producers.to_json())


def _promises(classified: Rows) -> Iterator[PromiseRecord]:
    names = (*_KEY, "promise_source", "promised_at")
    if isinstance(classified, DataFrame):
        found = on_driver(classified.where(F.col("promise_source").isNotNull()).select(*names))
    else:
        found = classified.filter(pc.is_valid(classified["promise_source"]))
    for *key, source, promised_at in rows_of(found, names):
        yield PromiseRecord(RecordKey(*key), source, promised_at)


def _latest_unpromised(classified: Rows, counts: Counts, liveness: Liveness) -> datetime | None:
    """The latest time of the events and heartbeats that were read while no producer was live."""
    if liveness.is_constant:
        return None if liveness.at_first else counts.latest
    if isinstance(classified, DataFrame):
        latest = _latest_in_spark(classified, liveness)
    else:
        is_event = pc.equal(classified["record_class"], EVENT)
        time = pc.if_else(is_event, classified["event_time"], classified["heartbeat_at"])
        latest = _latest(classified.select(list(_KEY)).append_column("time", time), liveness)
    return None if latest is None else from_micros(latest)


def _latest_in_spark(classified: DataFrame, liveness: Liveness) -> int | None:
    def latest(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"latest": pa.array([_latest(batch, liveness)], pa.int64())})

    event_time = F.when(F.col("record_class") == EVENT, F.col("event_time"))
    time = F.unix_micros(F.coalesce(event_time, "heartbeat_at")).alias("time")
    key = (F.unix_micros(name).alias(name) if name in _TIMES else F.col(name) for name in _KEY)
    found = classified.select(*key, time).where(F.col("time").isNotNull()).mapInArrow(latest, "latest bigint")
    row = found.agg(F.max("latest").alias("latest")).collect()[0]
    return None if row.latest is None else int(row.latest)


def _latest(rows: pa.Table | pa.RecordBatch, liveness: Liveness) -> int | None:
    """The latest of the times that were read while no producer was live; None if there is none."""
    timed = rows.filter(pc.is_valid(rows["time"]))
    found = (time for *key, time in rows_of(timed, (*_KEY, "time")) if not liveness.is_live_at(tuple(key)))
    return max(found, default=None)
