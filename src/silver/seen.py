"""The UIDs seen so far, by hash: an index in memory over silver.events."""

from datetime import datetime

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.instants import EPOCH, from_micros, to_micros
from silver.runs import Matches, Runs

_SLICE = 4_000_000  # rows collected at a time
_MOST_SPANS = 64  # spans of stamps that a look-up names


class Seen:
    """What refine remembers of silver.events: of each event the hash of its UID and its ingest stamp.

    It answers "surely new" for most records, and for the others which few files may hold an earlier event.
    Whether an event there has the same UID, or only the same hash, is for `silver.copies.find_copies` to say.
    It is made from the table when a job starts, and follows the table from then on, so nothing depends on
    how the job before ended. Once the table was rewritten, it has to be made anew.

    Args:
        known: silver.events, as it is when the job starts.
    """

    def __init__(self, known: DataFrame) -> None:
        self._runs = Runs()
        self._upto = EPOCH
        rows = 0
        stamps = known.groupBy("ingested_at").count().orderBy("ingested_at").collect()
        for row in stamps:
            rows += row["count"]
            if rows >= _SLICE or row is stamps[-1]:
                self.follow(known, from_micros(to_micros(row.ingested_at)))
                rows = 0

    def follow(self, known: DataFrame, upto: datetime) -> None:
        """Take in the events that were written since, up to an ingest stamp."""
        if upto <= self._upto:
            return
        stamp = F.col("ingested_at")
        new = known.where((stamp > F.lit(self._upto)) & (stamp <= F.lit(upto)))
        columns = new.select("event_hash", F.unix_micros(stamp).alias("stamp")).toArrow()
        self._runs.add(columns["event_hash"].to_numpy(), columns["stamp"].to_numpy())
        self._upto = upto

    def narrow(self, records: DataFrame, known: DataFrame, after: datetime) -> tuple[DataFrame, DataFrame]:
        """Leave out what can't be a copy, and what no record of a micro-batch can be a copy of.

        Args:
            records: of one micro-batch, with `event_hash`.
            known: silver.events.
            after: ingest stamp done before the micro-batch. Events behind it are its own, written before it
                was broken off; they are among its records.

        Returns:
            The records whose hash stands in the micro-batch twice or was seen before, and the events before
            it with such a hash.
        """
        self.follow(known, after)
        hashes = records.select("event_hash").toArrow()["event_hash"].to_numpy()
        unique, counts = np.unique(hashes, return_counts=True)
        before = self._runs.find(unique).upto(to_micros(after))
        suspects = np.union1d(unique[counts > 1], before.hashes)
        table = pa.table({"event_hash": suspects})
        few = F.broadcast(records.sparkSession.createDataFrame(table))
        near = known.where(_seen_at(before))
        return records.join(few, "event_hash", "left_semi"), near.join(few, "event_hash", "left_semi")


def _seen_at(matches: Matches) -> Column:
    condition = F.lit(False)
    for first, last in matches.spans(_MOST_SPANS):
        span = F.col("ingested_at").between(F.lit(from_micros(first)), F.lit(from_micros(last)))
        condition = condition | span
    return condition
