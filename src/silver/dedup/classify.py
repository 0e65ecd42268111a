"""Classifies the records of a micro-batch."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts.ops import ERASED_RECORDS
from lakehouse.contracts.silver import DUPLICATE_EVENTS, EVENTS, REJECTED_EVENTS
from lakehouse.rows.checkpointing import checkpoint_with
from lakehouse.rows.time_pruner import hours_between
from silver.dedup.classification import (
    CLASSES,
    COST,
    DUPLICATE,
    ERASED,
    EVENT,
    HEARTBEAT,
    RATE,
    REJECTED,
)
from silver.dedup.deduplicate import ENTRY, PLACE
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
        latest: the latest event time or heartbeat time, in microseconds.
        promises: number of promises of producers; they are among the heartbeats.
        hours: `lakehouse.rows.time_pruner.hours_between` of the times of on-time events.
    """

    by_class: Counter[str]
    read: int
    refused: int
    late: int
    latest: int | None
    promises: int
    hours: Sequence[Sequence[int]]


def dedup_candidates(candidates: DataFrame) -> DataFrame:
    """Select `ENTRY` of each record that may become an event."""
    return candidates.where(F.col("record_class") == EVENT).select(*ENTRY)


def classify(candidates: DataFrame, copies: DataFrame, watermark: Column) -> DataFrame:
    """Classify records: one row per record, with all columns that silver needs; not computed yet.

    Args:
        candidates: output of `silver.parsing.record_parser.RecordParser`.
        copies: output of `silver.dedup.deduplicate.mark_duplicates`.
        watermark: before the micro-batch of a record; null before the first.

    Returns:
        The columns of silver.events, rejected_events, duplicate_events, of a rate and of a cost, and
        `record_class`.
    """
    found = candidates.join(copies, list(PLACE), "left")
    record_class = F.when(F.col("first_offset").isNotNull(), DUPLICATE).otherwise(F.col("record_class"))
    late = F.coalesce(F.col("event_time") <= watermark, F.lit(False))
    return found.withColumns({"record_class": record_class, "is_late": late})


def records_of_class(classified: DataFrame, record_class: str) -> DataFrame:
    """Select the records of one class, with the columns of its table; of rates, the columns of a record."""
    if record_class == COST:
        costs = classified.where(F.col("record_class") == COST)
        return costs.select("campaign_cost.*", *PLACE)
    value = "raw" if record_class == REJECTED else "value"
    rows = classified.where(F.col("record_class") == record_class)
    return rows.select(
        *(F.col(value).alias(name) if name == "value" else name for name in _COLUMNS[record_class])
    )


def on_time_events(classified: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Select some columns of on-time events: those with an event time after the watermark."""
    return classified.where((F.col("record_class") == EVENT) & ~F.col("is_late")).select(*columns)


def arrived_records(classified: DataFrame) -> DataFrame:
    """Rows of ops.erased_records for records that arrived after their UID or identity was erased."""
    erased = classified.where(F.col("record_class") == ERASED)
    stamp = F.col("ingested_at")
    arrived = {
        "record_class": F.lit("arrived"),
        "request": F.lit(None).cast("string"),
        "erased_at": stamp,
    }
    return erased.withColumns(arrived).select(*ERASED_RECORDS.column_names)


def stamped_after(rows: DataFrame, stamp: datetime) -> DataFrame:
    """Select rows with a later ingest stamp."""
    return rows.where(F.col("ingested_at") > F.lit(stamp))


def count_records(classes: DataFrame, side_topics: tuple[str, str]) -> tuple[DataFrame, Counts]:
    """Compute the classes of a micro-batch's records, and count them in the same Spark job.

    Args:
        classes: output of `classify`.
        side_topics: topics of records that are no events.

    Returns:
        The classes, checkpointed, and the counts.
    """
    record_class, of_events = F.col("record_class"), ~F.col("topic").isin(*side_topics)
    clock = F.when(record_class == EVENT, F.col("event_time")).otherwise(F.col("heartbeat_at"))
    is_on_time = (record_class == EVENT) & ~F.col("is_late")
    on_time = F.when(is_on_time, F.unix_micros("event_time"))
    classified, found = checkpoint_with(
        classes,
        **{each: F.count_if(record_class == each) for each in CLASSES},
        read=F.count_if(of_events),
        refused=F.count_if(of_events & (record_class == REJECTED)),
        late=F.count_if((record_class == EVENT) & F.col("is_late")),
        latest=F.max(F.when(record_class.isin(EVENT, HEARTBEAT), F.unix_micros(clock))),
        promises=F.count("promise_source"),
        hours=hours_between(on_time, on_time),
    )
    names = ("read", "refused", "late", "latest", "promises", "hours")
    by_class = Counter({each: found[each] for each in CLASSES})
    return classified, Counts(by_class, *(found[name] for name in names))
