"""Lists the reads in ops.reads, and those of rows that were corrected later."""

from datetime import datetime

import polars as pl
import pyarrow as pa

from lakehouse.contracts import TABLES
from lakehouse.contracts.ops import READS
from lakehouse.delta.corrected_rows import CorrectedRows, count_corrected
from lakehouse.errors import MillraceError
from lakehouse.readers.open_tables import open_tables
from lakehouse.settings import Settings

CORRECTED = "corrected_rows"
"""Column with the number of rows that were corrected later; null if unknown."""


def reads(
    settings: Settings, table: str | None = None, reader: str | None = None, since: datetime | None = None
) -> pl.DataFrame:
    """Recorded reads, the latest first.

    Args:
        settings: the settings in force.
        table: only reads of this table.
        reader: only reads by this reader.
        since: only reads from this time on.

    Raises:
        MillraceError: if there are no recorded reads, or the table does not exist.
    """
    if table is not None and table not in TABLES:
        raise MillraceError(f"{table} is not a table", '`millrace sql "SHOW TABLES"` lists the tables')
    tables = open_tables(settings)
    latest = tables.latest_version(READS.name)
    if latest < 0:
        raise MillraceError("no reads are recorded", "Set MILLRACE_RECORD_READS=true: docs/access.md")
    found = pl.DataFrame(pl.from_arrow(pa.concat_tables(tables.rows(READS, latest))))
    for column, value in (("table_name", table), ("reader", reader)):
        if value is not None:
            found = found.filter(pl.col(column) == value)
    if since is not None:
        found = found.filter(pl.col("read_at") >= since)
    return found.select(READS.column_names).sort("read_at", descending=True, maintain_order=True)


def reads_of_corrected(
    settings: Settings,
    table: str,
    reader: str | None = None,
    version: int | None = None,
    since: datetime | None = None,
) -> tuple[pl.DataFrame, str]:
    """Reads of a table at versions with rows that were corrected later, the latest first.

    Args:
        settings: the settings in force.
        table: the table.
        reader: only reads by this reader.
        version: only corrections by commits from this version on.
        since: only corrections that were committed from this time on.

    Returns:
        The reads with `CORRECTED`, and a sentence on reads with an unknown number; empty if there are none.

    Raises:
        MillraceError: if there are no recorded reads, or the table does not exist.
    """
    found = reads(settings, table, reader)
    if version is not None:
        found = found.filter(pl.col("version") < version)
    tables = open_tables(settings)
    if found.is_empty() or tables.latest_version(table) < 0:
        return found.clear().with_columns(pl.lit(None, pl.Int64).alias(CORRECTED)), ""
    # Earlier reads were of another table with its name.
    is_same = pl.col("read_at") >= tables.created_at(table)
    versions = set(found.filter(is_same)["version"])
    counted = count_corrected(tables, TABLES[table], versions, version or 0, since)
    count = pl.col("version").replace_strict(counted.counts, default=None, return_dtype=pl.Int64)
    found = found.with_columns(pl.when(is_same).then(count).alias(CORRECTED))
    return found.filter(pl.col(CORRECTED).is_null() | (pl.col(CORRECTED) > 0)), _unknown(
        table, found[CORRECTED].null_count(), counted
    )


def _unknown(table: str, reads_: int, counted: CorrectedRows) -> str:
    if not reads_:
        return ""
    which = "1 read" if reads_ == 1 else f"{reads_:,} reads"
    return (
        f"Not known for {which}: the change feed of {table} reaches back to version {counted.first_version}, "
        "or the table was made again since."
    )
