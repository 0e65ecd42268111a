"""Writes data files and commits of a Delta table, for merges and compaction without Spark.

Actions are those of Delta's protocol (PROTOCOL.md, "Actions") for reader version 1 and writer version 2.
"""

import json
import os
import time
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable

from lakehouse.contracts.arrow import arrow_schema, typed
from lakehouse.contracts.table import Table
from lakehouse.delta.copy_on_write import File, Partition, partition_of
from lakehouse.delta.log_files import VersionTakenError, commit_file
from lakehouse.timestamps import from_micros

_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
_CHECKPOINT_INTERVAL = "delta.checkpointInterval"
_COMPRESSION = "snappy"
Action = dict[str, dict[str, Any]]


def write_file(
    folder: Path, table: Table, partition: Partition, rows: pa.Table, *, data_change: bool = True
) -> Action:
    """Write a data file. It is part of the table only after a commit.

    Args:
        folder: of the table.
        table: its contract.
        partition: values of its partition columns.
        rows: its columns, times in microseconds.
        data_change: False if the rows only move from files that the commit removes.

    Returns:
        The action that adds the file.
    """
    values = {name: _text(value) for name, value in zip(table.partitioned_by, partition, strict=True)}
    folders = "".join(f"{name}={_NULL_PARTITION if text is None else text}/" for name, text in values.items())
    path = f"{folders}part-00000-{uuid4()}-c000.{_COMPRESSION}.parquet"
    file = folder / path
    file.parent.mkdir(exist_ok=True)
    stored = typed(table, rows).drop_columns(list(table.partitioned_by))
    pq.write_table(stored, file, compression=_COMPRESSION, write_page_checksum=True)
    add = {
        "path": path,
        "partitionValues": values,
        "size": file.stat().st_size,
        "modificationTime": _now(),
        "dataChange": data_change,
        "stats": json.dumps(_statistics(table, rows)),
    }
    return {"add": add}


def remove_file(table: Table, file: File, *, data_change: bool = True) -> Action:
    """The action that removes a file from a table."""
    values = zip(table.partitioned_by, partition_of(table, file), strict=True)
    remove = {
        "path": file["path"],
        "dataChange": data_change,
        "deletionTimestamp": _now(),
        "extendedFileMetadata": True,
        "partitionValues": {name: _text(value) for name, value in values},
        "size": file["size_bytes"],
    }
    return {"remove": remove}


def commit(
    folder: Path,
    version: int,
    actions: list[Action],
    operation: str,
    metadata: Mapping[str, object] | None = None,
) -> None:
    """Commit actions as the next version of a table.

    Args:
        folder: of the table.
        version: the next version.
        actions: of `write_file` and `remove_file`.
        operation: its name in the table's history.
        metadata: of the commit; None: the commit has no high-water mark.

    Raises:
        VersionTakenError: if that version is already committed.
    """
    counts = {kind: sum(kind in action for action in actions) for kind in ("add", "remove")}
    info = {
        "timestamp": _now(),
        "operation": operation,
        "operationParameters": {},
        "readVersion": version - 1,
        "isBlindAppend": False,
        "operationMetrics": {
            "numTargetFilesAdded": str(counts["add"]),
            "numTargetFilesRemoved": str(counts["remove"]),
        },
        "engineInfo": "millrace",
        **({} if metadata is None else {"userMetadata": json.dumps(metadata)}),
    }
    file = commit_file(folder, version)
    draft = file.with_name(f".{file.name}.{uuid4()}.tmp")
    try:
        draft.write_text("".join(f"{json.dumps(each)}\n" for each in ({"commitInfo": info}, *actions)))
        os.link(draft, file)
    except FileExistsError as error:
        raise VersionTakenError(f"{file.name} exists") from error
    finally:
        draft.unlink(missing_ok=True)


def checkpoint_if_due(table: DeltaTable) -> None:
    """Write a checkpoint of the log, and clean the log, every `delta.checkpointInterval` commits."""
    interval = int(table.metadata().configuration.get(_CHECKPOINT_INTERVAL, "100"))
    if table.version() % interval == interval - 1:
        table.create_checkpoint()
        table.cleanup_metadata()


def _statistics(table: Table, rows: pa.Table) -> dict[str, Any]:
    """Statistics of columns that are not nested; bounds only of times, dates and integers."""
    lows: dict[str, Any] = {}
    highs: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for column in arrow_schema(table):
        if column.name in table.partitioned_by or pa.types.is_nested(column.type):
            continue
        if table.stats_columns and column.name not in table.stats_columns:
            continue
        values = rows[column.name]
        nulls[column.name] = values.null_count
        if _has_bounds(column.type) and values.null_count < len(values):
            bounds = pc.min_max(values).as_py()
            lows[column.name], highs[column.name] = (
                _bound(bounds[end], column.type) for end in ("min", "max")
            )
    return {"numRecords": rows.num_rows, "minValues": lows, "maxValues": highs, "nullCount": nulls}


def _has_bounds(type_: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(type_) or pa.types.is_integer(type_) or pa.types.is_date(type_))


def _bound(value: int | date, type_: pa.DataType) -> int | str:
    """A bound in the format of the log; times are truncated to milliseconds."""
    if isinstance(value, date):
        return value.isoformat()
    if pa.types.is_timestamp(type_):
        return from_micros(value).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value


def _text(value: object) -> str | None:
    """A partition value in the format of the log; partition columns are booleans."""
    return None if value is None else str(value).lower()


def _now() -> int:
    return time.time_ns() // 1_000_000
