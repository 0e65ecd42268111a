"""Finds records of erased UIDs and identities: copies, late events, and what a rebuild reads again."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts.ops import ERASED_IDENTITIES, ERASED_RECORDS
from lakehouse.erasure.erased_tables import ErasedTables
from lakehouse.erasure.keyed_hash import UID, USER, VISITOR, ErasureKey, KeyedHash
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.semi_join import semi_join
from silver.dedup.classification import ERASED, EVENT
from silver.dedup.deduplicate import PLACE

_COORDINATES = PLACE[1:]
_IS_ERASED = "_is_erased"


class ErasedRecords(ErasedTables):
    """What has been erased, as records of events are compared with it."""

    def mark_batch(self, candidates: DataFrame) -> DataFrame:
        """Set the class of a micro-batch's records of erased UIDs and identities to `ERASED`.

        Args:
            candidates: output of `silver.parsing.record_parser.RecordParser`. Checkpointed.

        Returns:
            The candidates, with the column uid_hash.
        """
        hashes = KeyedHash(ErasureKey(self._lake.settings.home).require())
        uid = hashes.column(UID, F.col("event_id"))
        whose = F.coalesce(hashes.column(USER, F.col("user_id")), hashes.column(VISITOR, F.col("visitor_id")))
        of_events = candidates.where(F.col("record_class") == EVENT)
        hashed = of_events.select(*PLACE, "event_time", uid.alias("uid_hash"), whose.alias("identity_hash"))
        events, known = checkpoint(hashed), self._lake.read(ERASED_RECORDS.name)
        uids = semi_join(known.select("uid_hash"), events, "uid_hash")
        found = semi_join(events, uids, "uid_hash").select(*PLACE)
        found = found.union(self._of_identities(events))
        found = found.union(semi_join(known.select(*PLACE), candidates, *PLACE))  # of an interrupted batch
        return _mark(candidates, F.broadcast(found.distinct()), PLACE).withColumn("uid_hash", uid)

    def mark_history(self, candidates: DataFrame) -> DataFrame:
        """Set the class of all erased records, each of which is in ops.erased_records."""
        return _mark(candidates, self._lake.read(ERASED_RECORDS.name), _COORDINATES)

    def _of_identities(self, events: DataFrame) -> DataFrame:
        """`PLACE` of events within a span of their user id, or of their visitor if they carry none."""
        spans = self._lake.read(ERASED_IDENTITIES.name).select("identity_hash", "valid_from", "valid_to")
        at, start = F.col("event_time"), F.col("valid_from")
        is_inside = (start.isNull() | (at >= start)) & (at < F.col("valid_to"))
        theirs = semi_join(spans, events, "identity_hash")
        return events.join(F.broadcast(theirs), "identity_hash").where(is_inside).select(*PLACE)


def _mark(candidates: DataFrame, erased: DataFrame, columns: Sequence[str]) -> DataFrame:
    known = erased.select(*columns, F.lit(True).alias(_IS_ERASED))
    record_class = F.when(F.col(_IS_ERASED), ERASED).otherwise(F.col("record_class"))
    marked = candidates.join(known, list(columns), "left")
    return marked.withColumn("record_class", record_class).drop(_IS_ERASED)
