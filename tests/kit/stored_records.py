"""Bronze as the records that the oracle takes."""

import polars as pl

from kit.records import Record, Stored
from lakehouse.settings import Settings


def stored_records(settings: Settings) -> list[Stored]:
    """All records of bronze, with the topic's name as the oracle knows it."""
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
