"""Finds duplicates by UID: the first record is kept, even if other fields differ."""

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lakehouse.rows.arrow_frames import rows_of
from lakehouse.rows.driver_or_spark import local_rows

PLACE = ("ingested_at", "topic", "partition", "offset")
FIRST = ("first_topic", "first_partition", "first_offset")
ENTRY = ("event_id", "event_hash", *PLACE)
_COPY = [
    pa.field("ingested_at", pa.timestamp("us", "UTC")),
    pa.field("topic", pa.string()),
    pa.field("partition", pa.int32()),
    pa.field("offset", pa.int64()),
    pa.field("first_topic", pa.string()),
    pa.field("first_partition", pa.int32()),
    pa.field("first_offset", pa.int64()),
]


def find_duplicates(records: pa.Table, known: pa.Table) -> pa.Table:
    """Find records that are duplicates, and the record that each duplicates.

    A record is never a duplicate of itself, so a repeated batch after a crash gives the same classes.

    Args:
        records: `ENTRY` of one micro-batch's records that may become events; times in microseconds.
        known: `ENTRY` of silver.events, without a time limit. Both tables may leave out records with a UID
            that occurs only once: see `silver.dedup.uid_index`.

    Returns:
        One row per duplicate: ingested_at and coordinates, and `first_topic`, `first_partition` and
        `first_offset` of the record that is kept.
    """
    first: dict[str, tuple[Any, ...]] = {}
    places = rows_of(records, ("event_id", *PLACE))
    for event_id, *place in (*places, *rows_of(known, ("event_id", *PLACE))):
        first[event_id] = min(first.get(event_id, tuple(place)), tuple(place))
    copies = [
        (*place, *first[event_id][1:]) for event_id, *place in places if tuple(place) != first[event_id]
    ]
    return local_rows(_COPY, copies)


def mark_duplicates(everyone: DataFrame) -> DataFrame:
    """Find the duplicates among all records of some UIDs, as a Spark plan; see `find_duplicates`."""
    first = F.min(F.struct(*PLACE)).over(Window.partitionBy("event_id"))
    copies = everyone.withColumn("first", first).where(F.struct(*PLACE) != F.col("first"))
    return copies.select(
        *PLACE, *(F.col(f"first.{name.removeprefix('first_')}").alias(name) for name in FIRST)
    )
