"""Reads for the audit: sums of the ledger, and the offsets in bronze."""

from typing import Any

import narwhals as nw

from lakehouse.settings import Settings
from millrace.tables.table_scan import Row, rows_of, scan

_SUMS = ("output_rows", "duplicates", "rejected", "heartbeats", "erased")


def ledger_sums(settings: Settings) -> dict[str, Row]:
    """By job: sums of the ledger's counts, and `position`, the ingest stamp processed through."""
    ledger = scan(settings, "ops.ledger")
    if ledger is None:
        return {}
    sums = ledger.group_by("job").agg(*(nw.col(name).sum() for name in _SUMS), nw.col("position").max())
    return {row["job"]: row for row in rows_of(sums)}


def held_offsets(settings: Settings) -> dict[tuple[str, int], tuple[int, int, int]]:
    """By topic and partition of bronze: first offset, last offset + 1, and number of records."""
    records = scan(settings, "bronze.kafka_records")
    if records is None:
        return {}
    spans = records.group_by("topic", "partition").agg(
        nw.col("offset").min().alias("first"),
        nw.col("offset").max().alias("last"),
        nw.len().alias("rows"),
    )
    return {
        (row["topic"], row["partition"]): (row["first"], row["last"] + 1, row["rows"])
        for row in rows_of(spans)
    }


def absent_offsets(settings: Settings, topic: str, partition: int) -> list[tuple[int, int]]:
    """The gaps between the offsets of a partition in bronze: first missing offset, and last + 1."""
    records = scan(settings, "bronze.kafka_records")
    if records is None:
        return []
    of_partition: Any = (nw.col("topic") == topic) & (nw.col("partition") == partition)
    held = records.filter(of_partition).select("offset").unique()
    begins = held.select((nw.col("offset") + 1).alias("offset")).join(held, on="offset", how="anti")
    ends = held.join(held.select((nw.col("offset") + 1).alias("offset")), on="offset", how="anti")
    starts = sorted(row["offset"] for row in rows_of(begins))[:-1]  # the last one follows the last offset
    stops = sorted(row["offset"] for row in rows_of(ends))[1:]
    return list(zip(starts, stops, strict=True))
