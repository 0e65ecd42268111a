"""Copies by UID: the first record stays, whatever else differs."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

PLACE = ("ingested_at", "topic", "partition", "offset")
_ENTRY = ("event_id", "event_hash", *PLACE)
_FIRST = ("first_topic", "first_partition", "first_offset")


def contest(candidates: DataFrame) -> DataFrame:
    """The records that may become events, by UID and place: no rejects, no heartbeats."""
    accepted = F.col("reason").isNull() & F.col("heartbeat_at").isNull()
    return candidates.where(accepted).select(*_ENTRY)


def find_copies(records: DataFrame, known: DataFrame) -> DataFrame:
    """Find the records that are copies, and whose.

    A record never counts as a copy of itself, so a micro-batch that runs again after its events were
    written comes to the same verdicts.

    Args:
        records: of one micro-batch, as `contest` gives them.
        known: silver.events of all time. Either may lack what has no UID in common with the rest: see
            `silver.seen`.

    Returns:
        One row a copy: ingested_at and coordinates, and `first_topic`, `first_partition`,
        `first_offset`: the record that stays.
    """
    return tell_copies(records.unionByName(known.select(*records.columns)).distinct())


def tell_copies(everyone: DataFrame) -> DataFrame:
    """Say of all records of some UIDs which are copies; see `find_copies`."""
    first = F.min(F.struct(*PLACE)).over(Window.partitionBy("event_id"))
    copies = everyone.withColumn("first", first).where(F.struct(*PLACE) != F.col("first"))
    return copies.select(
        *PLACE, *(F.col(f"first.{name.removeprefix('first_')}").alias(name) for name in _FIRST)
    )
