"""An in-memory index of the UIDs in silver.events, by hash."""

from collections.abc import Callable, Collection
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakehouse.delta.lookup import Lookup
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.timestamps import EPOCH, to_micros
from silver.dedup.deduplicate import ENTRY
from silver.dedup.sorted_runs import SortedRuns

_SLICE = 4_000_000  # rows taken in at a time
_MOST_SPANS = 64  # spans of stamps that a look-up names

Find = Callable[[Lookup], pa.Table]
"""Looks up silver.events."""


class UidIndex:
    """The hash of the UID and the ingest stamp of each event in silver.events.

    It answers "surely new" for most records, and for the others which few files may hold an earlier event.
    Whether an event there has the same UID, or only the same hash, is for `find_duplicates` to decide.
    It is made from the table when a job starts, and follows the table from then on, so nothing depends on
    how the job before ended. Once the table was rewritten, it is built again.

    Args:
        find: looks up silver.events.
        rows_by_stamp: how many events it has by ingest stamp, in microseconds, in order.
    """

    def __init__(self, find: Find, rows_by_stamp: Collection[tuple[int, int]] = ()) -> None:
        self._find = find
        self._runs = SortedRuns()
        self._upto = to_micros(EPOCH)
        rows = 0
        for number, (stamp, count) in enumerate(rows_by_stamp, start=1):
            rows += count
            if rows >= _SLICE or number == len(rows_by_stamp):
                self._follow(stamp)
                rows = 0

    def lookup(self, records: pa.Table, after: datetime) -> tuple[pa.Table, pa.Table]:
        """Candidates that may be duplicates, and the events that they may duplicate.

        Args:
            records: `silver.dedup.deduplicate.ENTRY` of one micro-batch.
            after: ingest stamp done before the micro-batch. Events behind it are its own, written before it
                was broken off; they are among its records.

        Returns:
            The records whose hash is in the micro-batch twice or was seen before, and `ENTRY` of the events
            before it with such a hash.
        """
        self._follow(to_micros(after))
        unique, counts = np.unique(records["event_hash"].to_numpy(), return_counts=True)
        before = self._runs.find(unique).upto(to_micros(after))
        suspects = np.union1d(unique[counts > 1], before.hashes)
        stamps = TimePruner(before.spans(_MOST_SPANS))
        known = self._find(Lookup(ENTRY, stamps, "ingested_at", key=("event_hash", suspects.tolist())))
        return records.filter(pc.is_in(records["event_hash"], pa.array(suspects, pa.int64()))), known

    def _follow(self, upto: int) -> None:
        """Insert events written since, up to an ingest stamp."""
        if upto <= self._upto:
            return
        stamps = TimePruner([(self._upto + 1, upto)])
        new = self._find(Lookup(("event_hash", "ingested_at"), stamps, "ingested_at"))
        self._runs.add(new["event_hash"].to_numpy(), new["ingested_at"].to_numpy())
        self._upto = upto
