"""Compacts a table without Spark: joins small files, and splits large ones of mutable tables."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.table import Table
from lakehouse.delta.compaction_plan import full_size, plan_compaction
from lakehouse.delta.copy_on_write import File, partition_of, split_by_time
from lakehouse.delta.log_files import VersionTakenError
from lakehouse.delta.log_writer import Action, commit, remove_file, write_file
from lakehouse.delta.parquet_cache import read_columns
from lakehouse.delta.table_log import TableLog

_TRIES = 5  # attempts of a commit, if others take its version


def compact(log: TableLog, table: Table) -> list[File]:
    """Compact a table in one commit. No row changes, and the commit says so (`dataChange` false).

    Args:
        log: of the table. Only appends may be committed to it at the same time.
        table: its contract.

    Returns:
        The files that were replaced.

    Raises:
        VersionTakenError: if other commits replaced a file or took each version; nothing was committed.
    """
    with log.lock:
        log.follow()
        groups = plan_compaction(table, log.files())
    replaced = [file for group in groups for file in group]
    if replaced:
        actions = [action for group in groups for action in _replace(log.folder, table, group)]
        _commit(log, replaced, actions)
    return replaced


def _replace(folder: Path, table: Table, group: list[File]) -> Iterator[Action]:
    rows = pa.concat_tables([_rows(folder, table, file) for file in group])
    partition = partition_of(table, group[0])
    _, full = full_size(table, partition)
    for part in split_by_time(table, rows, full) if table.is_mutable else [rows]:
        yield write_file(folder, table, partition, part, data_change=False)
    yield from (remove_file(table, file, data_change=False) for file in group)


def _rows(folder: Path, table: Table, file: File) -> pa.Table:
    """All columns of a file, times in microseconds."""
    schema = arrow_schema(table)
    stored = pa.schema([column for column in schema if column.name not in table.partitioned_by])
    rows = pa.table(read_columns(f"{folder}/{file['path']}", stored))
    for name, value in zip(table.partitioned_by, partition_of(table, file), strict=True):
        column = pa.repeat(pa.scalar(value, schema.field(name).type), rows.num_rows)
        rows = rows.append_column(name, column)
    return rows


def _commit(log: TableLog, replaced: list[File], actions: list[Action]) -> None:
    for left in reversed(range(_TRIES)):
        with log.lock:
            log.follow()
            if not {file["path"] for file in replaced} <= {file["path"] for file in log.files()}:
                raise VersionTakenError(f"{log.folder.name}: files were replaced by another commit")
            try:
                commit(log.folder, log.table.version() + 1, actions, "OPTIMIZE")
            except VersionTakenError:
                if not left:
                    raise
            else:
                log.follow()
                return
