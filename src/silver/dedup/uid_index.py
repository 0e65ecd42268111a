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

_SLICE = 4_000_000  # rows read at a time
_MOST_SPANS = 64  # maximum number of stamp ranges in a lookup

Find = Callable[[Lookup], pa.Table]
"""Looks up silver.events."""


class UidIndex:
    """The hash of the UID and the ingest stamp of each event in silver.events.

    Most records have a hash that is not in the index, so they are new. For the others, the index names the
    few files that may contain an earlier event. Different UIDs may share a hash, so `find_duplicates`
    compares the UIDs. The index is built from the table when a job starts and is then refreshed from new
    rows, so it does not depend on how the previous run ended. After a rewrite of the table it is rebuilt.

    Args:
        find: looks up silver.events.
        rows_by_stamp: number of events by ingest stamp, in microseconds, in order.
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
        """Find records that may be duplicates, and the earlier events that they may duplicate.

        Args:
            records: `silver.dedup.deduplicate.ENTRY` of one micro-batch.
            after: high-water mark before the micro-batch. Later events in the table were written by the same
                micro-batch before a crash; they are among its records.

        Returns:
            The records with a hash that repeats in the micro-batch or is in the index, and `ENTRY` of earlier
            events with such a hash.
        """
        self._follow(to_micros(after))
        unique, counts = np.unique(records["event_hash"].to_numpy(), return_counts=True)
        before = self._runs.find(unique).upto(to_micros(after))
        suspects = np.union1d(unique[counts > 1], before.hashes)
        stamps = TimePruner(before.spans(_MOST_SPANS))
        known = self._find(Lookup(ENTRY, stamps, "ingested_at", key=("event_hash", suspects.tolist())))
        return records.filter(pc.is_in(records["event_hash"], pa.array(suspects, pa.int64()))), known

    def _follow(self, upto: int) -> None:
        """Insert the events written since the last call, up to an ingest stamp."""
        if upto <= self._upto:
            return
        stamps = TimePruner([(self._upto + 1, upto)])
        new = self._find(Lookup(("event_hash", "ingested_at"), stamps, "ingested_at"))
        self._runs.add(new["event_hash"].to_numpy(), new["ingested_at"].to_numpy())
        self._upto = upto
