"""Bronze of a home as the records that the oracle takes."""

import polars as pl

from kit.home import Home
from kit.records import Record, Stored


def stored_records(home: Home) -> list[Stored]:
    """All records of bronze, with the topic's name as the oracle knows it."""
    rows = pl.read_delta(str(home.settings.warehouse / "bronze" / "kafka_records"))
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
