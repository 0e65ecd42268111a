"""Copies by UID: the first record stays, whatever else differs."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

PLACE = ("ingested_at", "topic", "partition", "offset")
_FIRST = ("first_topic", "first_partition", "first_offset")


def find_copies(candidates: DataFrame, known: DataFrame) -> DataFrame:
    """Find the records that are copies, and whose.

    A record never counts as a copy of itself, so a micro-batch that runs again after its events were
    written comes to the same verdicts.

    Args:
        candidates: records of one micro-batch: event_id, event_hash, ingested_at and coordinates.
            Records with a `reason`, and heartbeats, are left out of the contest.
        known: silver.events of all time.

    Returns:
        One row a copy: ingested_at and coordinates, and `first_topic`, `first_partition`,
        `first_offset`: the record that stays.
    """
    entries = enter_contest(candidates)
    hashes = F.broadcast(entries.select("event_hash").distinct())
    before = known.select(*entries.columns).join(hashes, "event_hash", "left_semi")
    return tell_copies(entries.unionByName(before).distinct())


def enter_contest(candidates: DataFrame) -> DataFrame:
    """The records that may be the first of their UID: neither refused nor heartbeats."""
    contest = candidates.where(F.col("reason").isNull() & F.col("heartbeat_at").isNull())
    return contest.select("event_id", "event_hash", *PLACE)


def tell_copies(everyone: DataFrame) -> DataFrame:
    """Say of all records of some UIDs which are copies; see `find_copies`."""
    first = F.min(F.struct(*PLACE)).over(Window.partitionBy("event_id"))
    copies = everyone.withColumn("first", first).where(F.struct(*PLACE) != F.col("first"))
    return copies.select(
        *PLACE, *(F.col(f"first.{name.removeprefix('first_')}").alias(name) for name in _FIRST)
    )
