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
    contest = candidates.where(F.col("reason").isNull() & F.col("heartbeat_at").isNull())
    entries = contest.select("event_id", "event_hash", *PLACE)
    shared = _repeated_in(entries).unionByName(_seen_before(entries, known)).distinct()
    rivals = entries.join(F.broadcast(shared), "event_hash", "left_semi")
    return _name_first(rivals, known)


def _repeated_in(entries: DataFrame) -> DataFrame:
    """Hashes that occur more than once in the batch."""
    return entries.groupBy("event_hash").count().where("count > 1").select("event_hash")


def _seen_before(entries: DataFrame, known: DataFrame) -> DataFrame:
    """Hashes of the batch that silver.events has, under other coordinates."""
    batch = F.broadcast(entries.select("event_hash").distinct())
    return known.select("event_hash").join(batch, "event_hash", "left_semi")


def _name_first(rivals: DataFrame, known: DataFrame) -> DataFrame:
    """For each rival that is a copy, the coordinates of the record that stays."""
    before = known.select("event_id", "event_hash", *PLACE).join(
        F.broadcast(rivals.select("event_hash").distinct()), "event_hash", "left_semi"
    )
    place = F.struct(*PLACE)
    of_uid = Window.partitionBy("event_id")
    everyone = rivals.unionByName(before).distinct()
    ranked = everyone.withColumn("first", F.min(place).over(of_uid)).where(place != F.col("first"))
    return ranked.select(
        *PLACE,
        *(F.col(f"first.{name.removeprefix('first_')}").alias(name) for name in _FIRST),
    )
