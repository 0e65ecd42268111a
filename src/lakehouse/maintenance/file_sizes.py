"""Sizes of files that compaction aims at."""

from typing import NamedTuple

from lakehouse.contracts import Table

MIN_FILES = 16
"""A table with at most this many files keeps its small files."""

MAX_FILE_BYTES = 32 * 1024 * 1024
"""Maximum size of a compacted file of an append-only table, which readers prune by its ingest stamps."""

MAX_MUTABLE_FILE_BYTES = 8 * 1024 * 1024
"""The same for a table that is merged into, since a merge rewrites whole files. Some 100,000 rows."""


class Compacted(NamedTuple):
    """Number of files of a table before and after compaction."""

    before: int
    after: int


def max_file_bytes(table: Table) -> int:
    """Maximum size of a table's compacted files."""
    return MAX_MUTABLE_FILE_BYTES if table.is_mutable else MAX_FILE_BYTES
