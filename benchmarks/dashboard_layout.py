"""How the tables of a year lie in files: what maintenance has put together, and what has come since."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path

import polars as pl
import pyarrow as pa
from deltalake import WriterProperties, write_deltalake

from kit.warehouse_builder import schema_of
from lakehouse.contracts import TABLES

_FILE_BYTES = 32 * 2**20  # as `lakehouse.maintenance.compaction` has it
_ONE_ROW_GROUP = WriterProperties(max_row_group_size=10_000_000, compression="SNAPPY")  # as Spark writes them
_SINCE = timedelta(hours=1)  # since the last maintenance
_COMMITS = 60  # in this time


def write_table(home: Path, name: str, pieces: Iterable[pl.DataFrame], ends_at: object = None) -> int:
    """Write a table: large files in order of time, then small ones of its last hour.

    Args:
        home: that the warehouse is in.
        name: `layer.table`.
        pieces: of its rows, in order of time; columns that they lack are null.
        ends_at: when its last hour is over; none, and all of it has been put together.

    Returns:
        How many rows it has.
    """
    path = home.joinpath("warehouse", *name.split("."))
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = list(TABLES[name].partitioned_by) or None
    late: list[pl.DataFrame] = []
    counted = 0

    def put_together() -> Iterator[pa.RecordBatch]:
        nonlocal counted
        for piece in pieces:
            rows = whole(name, piece)
            counted += rows.height
            if ends_at is not None:
                is_late = pl.col(_time(name)) >= pl.lit(ends_at) - _SINCE
                late.append(rows.filter(is_late))
                rows = rows.filter(~is_late)
            yield from _arrow(rows).to_batches()

    schema = _arrow(pl.DataFrame(schema=schema_of(name))).schema
    body = pa.RecordBatchReader.from_batches(schema, put_together())
    write_deltalake(
        path, body, partition_by=parts, target_file_size=_FILE_BYTES, writer_properties=_ONE_ROW_GROUP
    )
    for rows in _commits(late):
        commit(home, name, rows)
    return counted


def latest_row(home: Path, name: str) -> pl.DataFrame:
    """A row of a table that is as late as any."""
    rows = pl.scan_delta(str(home.joinpath("warehouse", *name.split("."))))
    return rows.filter(pl.col(_time(name)) == pl.col(_time(name)).max()).head(1).collect()


def commit(home: Path, name: str, rows: pl.DataFrame) -> None:
    """Add rows to a table, as a micro-batch does."""
    path = home.joinpath("warehouse", *name.split("."))
    parts = list(TABLES[name].partitioned_by) or None
    write_deltalake(path, _arrow(rows), mode="append", partition_by=parts)


def whole(name: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with all columns of a table; those that are lacking are null."""
    return rows.select(
        pl.col(column).cast(kind) if column in rows.columns else pl.lit(None, kind).alias(column)
        for column, kind in schema_of(name).items()
    )


def _time(name: str) -> str:
    return TABLES[name].event_time or "started_at"


def _commits(late: list[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    rows = pl.concat(late) if late else pl.DataFrame()
    size = -(-rows.height // _COMMITS)
    for start in range(0, rows.height, size or 1):
        yield rows.slice(start, size)


def _arrow(rows: pl.DataFrame) -> pa.Table:
    return rows.to_arrow(compat_level=pl.CompatLevel.oldest())
