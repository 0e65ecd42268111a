"""Writes tables with a realistic file layout: compacted files, plus small files since the compaction."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path

import polars as pl
import pyarrow as pa
from deltalake import WriterProperties, write_deltalake

from kit.warehouse_builder import schema_of
from lakehouse.contracts import TABLES

_FILE_BYTES = 32 * 2**20  # as in `lakehouse.maintenance.compaction`
_ONE_ROW_GROUP = WriterProperties(max_row_group_size=10_000_000, compression="SNAPPY")  # like Spark
_SINCE = timedelta(hours=1)  # since the last maintenance
_COMMITS = 60  # in this hour


def write_table(home: Path, name: str, pieces: Iterable[pl.DataFrame], ends_at: object = None) -> int:
    """Write a table: large files in order of time, then small files for its last hour.

    Args:
        home: the home with the warehouse.
        name: `layer.table`.
        pieces: its rows in order of time. Missing columns become null.
        ends_at: end of the last hour. None: all rows are in large files.

    Returns:
        The number of rows.
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
    """A row of a table with the latest time."""
    rows = pl.scan_delta(str(home.joinpath("warehouse", *name.split("."))))
    return rows.filter(pl.col(_time(name)) == pl.col(_time(name)).max()).head(1).collect()


def commit(home: Path, name: str, rows: pl.DataFrame) -> None:
    """Append rows to a table, like a micro-batch."""
    path = home.joinpath("warehouse", *name.split("."))
    parts = list(TABLES[name].partitioned_by) or None
    write_deltalake(path, _arrow(rows), mode="append", partition_by=parts)


def whole(name: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with all columns of a table. Missing columns become null."""
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
