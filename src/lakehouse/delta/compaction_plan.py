"""Which files of a table compaction replaces."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from lakehouse.contracts.table import Table
from lakehouse.delta.copy_on_write import MAX_ROWS_PER_SMALL_FILE, File, Partition, partition_of
from lakehouse.rows.checkpointing import MAX_ROWS_PER_MUTABLE_FILE

MIN_FILES = 16
"""A table with at most this many files keeps its small files."""

MAX_FILE_BYTES = 32 * 1024 * 1024
"""Larger files are not compacted: each has a range of ingest stamps and is pruned by it."""


def full_size(table: Table, partition: Partition) -> tuple[str, int]:
    """The statistic by which files of a partition are measured, and its value for a full file."""
    if not table.is_mutable:
        return "size_bytes", MAX_FILE_BYTES
    is_open = any(partition)  # each merge replaces whole files of open rows
    return "num_records", MAX_ROWS_PER_SMALL_FILE if is_open else MAX_ROWS_PER_MUTABLE_FILE


def plan_compaction(table: Table, files: Sequence[File]) -> list[list[File]]:
    """Choose the files to replace, in groups that each become one file, or several if one is too small.

    Files less than half full are joined: in order of event time in mutable tables, of commits in others. In
    mutable tables, files with more than twice the rows of a full file are split.

    Args:
        table: its contract.
        files: all files of the table; see `lakehouse.delta.table_log.files_of`.
    """
    partitions = defaultdict[Partition, list[File]](list)
    for file in files:
        partitions[partition_of(table, file)].append(file)
    are_many = len(files) > MIN_FILES
    return [
        group
        for partition, theirs in partitions.items()
        for group in _groups(table, partition, theirs, are_many)
    ]


def _groups(table: Table, partition: Partition, files: list[File], are_many: bool) -> Iterator[list[File]]:
    unit, full = full_size(table, partition)
    first = f"min.{table.event_time}" if table.is_mutable else "modification_time"
    group: list[File] = []
    size = 0
    for file in sorted(files, key=lambda file: (file.get(first) is not None, file.get(first))):
        if table.is_mutable and file[unit] > 2 * full:
            yield [file]
        elif are_many and 2 * file[unit] < full:
            group.append(file)
            size += file[unit]
            if size >= full:
                yield group
                group, size = [], 0
    if len(group) > 1:
        yield group
