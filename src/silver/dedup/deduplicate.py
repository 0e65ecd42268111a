"""Finds duplicates by UID: the first record is kept, even if other fields differ."""

from datetime import datetime

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lakehouse.rows.semi_join import semi_join
from lakehouse.rows.time_pruner import SECOND, TimePruner, hours_between
from lakehouse.run.batch_settings import compiled

PLACE = ("ingested_at", "topic", "partition", "offset")
FIRST = ("first_topic", "first_partition", "first_offset")
ENTRY = ("event_id", "event_hash", *PLACE)


def find_duplicates(records: DataFrame, events: DataFrame, after: datetime) -> DataFrame:
    """Find records that are duplicates, and the record that each duplicates.

    A record is never a duplicate of itself, so a repeated batch after a crash gives the same classes.

    Args:
        records: `ENTRY` of one micro-batch's records that may become events. Checkpointed.
        events: silver.events.
        after: high-water mark before the micro-batch. Later events in the table were written by the same
            micro-batch before a crash; they are among its records.

    Returns:
        Output of `mark_duplicates`; not computed yet.
    """
    known = known_events(records, events, after)
    return mark_duplicates(records if known is None else records.unionByName(known))


def known_events(records: DataFrame, events: DataFrame, upto: datetime) -> DataFrame | None:
    """`ENTRY` of earlier events that records may duplicate: those with the hash of a record's UID.

    None if there are none.

    All events are searched, by the column of hashes alone, with compiled code that has no values of the
    micro-batch. Where it has a match, the other columns are read from the few files of its ingest stamp. See
    docs/decisions/0048.

    Args:
        records: `ENTRY` of the records.
        events: silver.events; some of its rows may be among the records.
        upto: ingest stamp of the last earlier event.
    """
    hits = semi_join(events.select("event_hash", "ingested_at"), records, "event_hash")
    stamp = F.unix_micros("ingested_at")
    with compiled(events.sparkSession):
        seconds = hits.agg(hours_between(stamp, stamp, SECOND)).collect()[0][0]
    if not seconds:
        return None
    near = TimePruner.of_hours(seconds, length=SECOND).contains("ingested_at")
    earlier = events.select(*ENTRY).where(near & (F.col("ingested_at") <= F.lit(upto)))
    return semi_join(earlier, records, "event_hash")


def mark_duplicates(everyone: DataFrame) -> DataFrame:
    """Find the duplicates among all records of some UIDs.

    Args:
        everyone: `ENTRY` of the records; a record may be there twice.

    Returns:
        One row per duplicate: `PLACE`, and `FIRST`, the coordinates of the record that is kept.
    """
    first = F.min(F.struct(*PLACE)).over(Window.partitionBy("event_id"))
    copies = everyone.withColumn("first", first).where(F.struct(*PLACE) != F.col("first"))
    return copies.select(
        *PLACE, *(F.col(f"first.{name.removeprefix('first_')}").alias(name) for name in FIRST)
    )
