"""Counts rows of a table by ingest stamp."""

from datetime import datetime

import numpy as np
from pyspark.sql import functions as F

from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.lookup import Lookup
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.timestamps import FIRST, LAST, to_micros


def count_by_stamp(lake: Lakehouse, name: str, after: datetime = FIRST) -> list[tuple[int, int]]:
    """Ingest stamps after a time (microseconds), each with its number of rows, in order."""
    later = TimePruner([(to_micros(after) + 1, to_micros(LAST))])
    wanted = Lookup(("ingested_at",), later, "ingested_at")
    if lake.local.is_possible:
        found, counts = np.unique(lake.find(name, wanted)["ingested_at"].to_numpy(), return_counts=True)
        return list(zip(found.tolist(), counts.tolist(), strict=True))
    stamps = wanted.of_frame(lake.read(name)).groupBy(F.unix_micros("ingested_at").alias("stamp"))
    return sorted((row.stamp, row["count"]) for row in stamps.count().collect())
