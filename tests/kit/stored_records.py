"""Reads bronze as input of the oracle."""

import polars as pl

from kit.records import Record, Stored
from lakehouse.settings import Settings


def stored_records(settings: Settings) -> list[Stored]:
    """All records of bronze, with the topic name that the oracle expects."""
    rows = pl.read_delta(str(settings.warehouse / "bronze" / "kafka_records"))
    return [
        Stored(
            Record(
                row["value"],
                tuple((header["key"], header["value"]) for header in row["headers"] or ()),
                row["timestamp"],
                row["topic"],
                row["partition"],
            ),
            row["offset"],
            row["ingested_at"],
        )
        for row in rows.iter_rows(named=True)
    ]
