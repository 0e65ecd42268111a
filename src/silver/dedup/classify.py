"""Classifies the records of a micro-batch, on the driver or in Spark."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts.silver import DUPLICATE_EVENTS, EVENTS, REJECTED_EVENTS
from lakehouse.rows.arrow_frames import rows_of, to_frame
from lakehouse.rows.arrow_times import in_micros
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.driver_or_spark import Rows
from lakehouse.timestamps import from_micros, to_micros
from silver.dedup.classification import CLASSES, DUPLICATE, EVENT, HEARTBEAT, RATE, REJECTED
from silver.dedup.deduplicate import ENTRY, FIRST, PLACE
from silver.exchange_rates import RATE_COLUMNS

_COLUMNS = {
    EVENT: EVENTS.column_names,
    DUPLICATE: DUPLICATE_EVENTS.column_names,
    REJECTED: REJECTED_EVENTS.column_names,
    RATE: RATE_COLUMNS,
}
"""Columns of the records of each class."""


@dataclass(frozen=True)
class Counts:
    """Record counts of a micro-batch.

    Args:
        by_class: number of records per class.
        read: number of records from the event topics.
        refused: number of these that were rejected.
        late: number of late events.
        latest: the latest event time or heartbeat time.
        promises: number of promises of producers; they are among the heartbeats.
    """

    by_class: Counter[str]
    read: int
    refused: int
    late: int
    latest: datetime | None
    promises: int


def dedup_candidates(candidates: Rows) -> Rows:
    """Select `ENTRY` of each record that may become an event."""
    if isinstance(candidates, DataFrame):
        return candidates.where(F.col("record_class") == EVENT).select(*ENTRY)
    return candidates.select(list(ENTRY)).filter(pc.equal(candidates["record_class"], EVENT))


def classify(candidates: Rows, copies: pa.Table, watermark: datetime | None) -> Rows:
    """Classify the records of a micro-batch: one row per record, with all columns that silver needs.

    Args:
        candidates: output of `silver.parsing.record_parser.RecordParser`.
        copies: output of `silver.dedup.deduplicate.find_duplicates`.
        watermark: before the micro-batch; None before the first.

    Returns:
        The columns of silver.events, rejected_events, duplicate_events and of a rate, and `record_class`.
    """
    if isinstance(candidates, DataFrame):
        theirs = F.broadcast(to_frame(candidates.sparkSession, copies))
        return checkpoint(classify_frame(candidates, theirs, F.lit(watermark)))
    copies = in_micros(copies)
    indices = _copy_indices(candidates, copies)
    for name in FIRST:
        candidates = candidates.append_column(name, copies[name].take(indices))
    parsed = candidates["record_class"]
    classes = pc.if_else(pc.is_valid(candidates["first_offset"]), DUPLICATE, parsed)
    candidates = candidates.set_column(candidates.column_names.index("record_class"), "record_class", classes)
    mark = pa.scalar(None if watermark is None else to_micros(watermark), pa.int64())
    late = pc.fill_null(pc.less_equal(candidates["event_time"], mark), False)
    return candidates.append_column("is_late", late)


def classify_frame(candidates: DataFrame, copies: DataFrame, watermark: Column) -> DataFrame:
    """Classify records lazily, as a Spark plan; the watermark is null before the first micro-batch."""
    found = candidates.join(copies, list(PLACE), "left")
    record_class = F.when(F.col("first_offset").isNotNull(), DUPLICATE).otherwise(F.col("record_class"))
    late = F.coalesce(F.col("event_time") <= watermark, F.lit(False))
    return found.withColumns({"record_class": record_class, "is_late": late})


def records_of_class(classified: Rows, record_class: str) -> Rows:
    """Select the records of one class, with the columns of its table; of rates, the columns of a record."""
    columns = _COLUMNS[record_class]
    value = "raw" if record_class == REJECTED else "value"
    if isinstance(classified, DataFrame):
        rows = classified.where(F.col("record_class") == record_class)
        return rows.select(*(F.col(value).alias(name) if name == "value" else name for name in columns))
    named = {name: classified[value if name == "value" else name] for name in columns}
    return pa.table(named).filter(pc.equal(classified["record_class"], record_class))


def on_time_events(classified: Rows, columns: Sequence[str]) -> Rows:
    """Select some columns of on-time events: those with an event time after the watermark."""
    if isinstance(classified, DataFrame):
        return classified.where((F.col("record_class") == EVENT) & ~F.col("is_late")).select(*columns)
    is_event = pc.equal(classified["record_class"], EVENT)
    return classified.select(list(columns)).filter(pc.and_(is_event, pc.invert(classified["is_late"])))


def stamped_after(rows: Rows, stamp: datetime) -> Rows:
    """Select rows with a later ingest stamp."""
    if isinstance(rows, DataFrame):
        return rows.where(F.col("ingested_at") > F.lit(stamp))
    is_later = pc.greater(rows["ingested_at"], to_micros(stamp))
    return rows if pc.all(is_later).as_py() else rows.filter(is_later)


def count_records(classified: Rows, rates_topic: str) -> Counts:
    """Count the records of a micro-batch.

    Args:
        classified: output of `classify`.
        rates_topic: the topic of exchange rates.
    """
    if isinstance(classified, DataFrame):
        return _count_in_spark(classified, rates_topic)
    classes = classified["record_class"]
    of_events = pc.not_equal(classified["topic"], rates_topic)
    events = classified.select(["event_time", "is_late"]).filter(pc.equal(classes, EVENT))
    heartbeats = classified["heartbeat_at"].filter(pc.equal(classes, HEARTBEAT))
    times = (pc.max(events["event_time"]).as_py(), pc.max(heartbeats).as_py())
    latest = max((time for time in times if time is not None), default=None)
    return Counts(
        by_class=Counter({each["values"]: each["counts"] for each in pc.value_counts(classes).to_pylist()}),
        read=pc.sum(of_events).as_py() or 0,
        refused=pc.sum(pc.and_(of_events, pc.equal(classes, REJECTED))).as_py() or 0,
        late=pc.sum(events["is_late"]).as_py() or 0,
        latest=None if latest is None else from_micros(latest),
        promises=pc.count(classified["promise_source"]).as_py(),
    )


def _count_in_spark(classified: DataFrame, rates_topic: str) -> Counts:
    record_class, of_events = F.col("record_class"), F.col("topic") != rates_topic
    clock = F.when(record_class == EVENT, F.col("event_time")).otherwise(F.col("heartbeat_at"))
    row = classified.agg(
        *(F.count_if(record_class == each).alias(each) for each in CLASSES),
        F.count_if(of_events).alias("read"),
        F.count_if(of_events & (record_class == REJECTED)).alias("refused"),
        F.count_if((record_class == EVENT) & F.col("is_late")).alias("late"),
        F.max(F.when(record_class.isin(EVENT, HEARTBEAT), clock)).alias("latest"),
        F.count("promise_source").alias("promises"),
    ).collect()[0]
    by_class = Counter({each: row[each] for each in CLASSES})
    return Counts(by_class, row.read, row.refused, row.late, row.latest, row.promises)


def _copy_indices(candidates: pa.Table, copies: pa.Table) -> pa.Array:
    """For each candidate, the index of its row in `copies`; null if it is not a duplicate."""
    places = {place: index for index, place in enumerate(rows_of(copies, PLACE))}
    likely = pc.indices_nonzero(pc.is_in(candidates["offset"], copies["offset"].combine_chunks()))
    indices = np.full(candidates.num_rows, -1)
    found = rows_of(candidates.select(list(PLACE)).take(likely), PLACE)
    indices[likely.to_numpy()] = [places.get(place, -1) for place in found]
    return pa.array(indices, mask=indices < 0)
