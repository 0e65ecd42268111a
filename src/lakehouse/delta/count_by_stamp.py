"""Counts rows of a table by ingest stamp."""

from datetime import datetime

from pyspark.sql import functions as F

from lakehouse.delta.delta_tables import Lakehouse


def count_by_stamp(lake: Lakehouse, name: str, after: datetime) -> list[tuple[int, int]]:
    """Ingest stamps after a time (microseconds), each with its number of rows, in order.

    The driver gets one row per commit that the ledger lacks: some after a crash, else none.
    """
    later = lake.read(name).where(F.col("ingested_at") > F.lit(after))
    stamps = later.groupBy(F.unix_micros("ingested_at").alias("stamp"))
    return sorted((row.stamp, row["count"]) for row in stamps.count().collect())
