"""Merges changes into files of a table: only files with matching rows are replaced, each by its own rows."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakehouse.contracts.table import DELETED, Table
from lakehouse.delta.merge import Scope
from lakehouse.rows.arrow_chunks import one_chunk

MAX_ROWS_PER_SMALL_FILE = 25_000
"""A merge joins smaller files that it replaces to files of at most this many rows, in order of event time."""

File = Mapping[str, Any]
Read = Callable[[File, Sequence[str]], pa.Table]
Partition = tuple[object, ...]
Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]


@dataclass
class FileChanges:
    """Files to remove from a table, and rows of files to add.

    Args:
        removed: files with matching rows.
        added: rows of each new file, with times in microseconds, and the values of its partition columns.
    """

    removed: list[File] = field(default_factory=list)
    added: list[tuple[Partition, pa.Table]] = field(default_factory=list)


def plan_merge(
    table: Table, changes: pa.Table, scope: Scope, files: Iterable[File], read: Read
) -> FileChanges:
    """Find what a merge by key changes of a table's files.

    A large file is replaced by one with the same keys, so that its range of event times stays the same.
    New rows join the smaller files that the merge replaces; see `MAX_ROWS_PER_SMALL_FILE`.

    Args:
        table: its contract.
        changes: its columns and `DELETED`, each key once, times in microseconds.
        scope: a condition that holds for every row of the table that a change may match.
        files: all files of the table; see `lakehouse.delta.table_log.files_of`.
        read: returns columns of a file, times in microseconds.
    """
    upserts = changes.filter(pc.invert(changes[DELETED])).select(list(table.column_names))
    is_kept = np.asarray(pc.invert(changes[DELETED]))
    is_new = is_kept.copy()
    row_of_upsert = np.cumsum(is_kept) - 1
    found, joined = FileChanges(), defaultdict[Partition, list[pa.Table]](list)
    for file, hit, matched in _matches(table, changes, scope, files, read):
        found.removed.append(file)
        is_new[matched] = False
        kept = read(file, table.column_names).filter(pa.array(~hit))
        changed = upserts.take(pa.array(row_of_upsert[matched[is_kept[matched]]]))
        is_small = int(file["num_records"]) < MAX_ROWS_PER_SMALL_FILE
        for partition, rows in _by_partition(table, changed):
            if partition == partition_of(table, file) and not is_small:
                kept = pa.concat_tables([kept, rows])
            else:
                joined[partition].append(rows)
        if is_small:
            joined[partition_of(table, file)].append(kept)
        elif kept.num_rows:
            columns = [one_chunk(column) for column in kept.columns]  # it gets a chunk with each merge
            found.added.append((partition_of(table, file), pa.table(columns, kept.column_names)))
    for partition, rows in _by_partition(table, upserts.filter(pa.array(is_new[is_kept]))):
        joined[partition].append(rows)
    for partition, parts in joined.items():
        joint = split_by_time(table, pa.concat_tables(parts), MAX_ROWS_PER_SMALL_FILE)
        found.added += ((partition, rows) for rows in joint)
    return found


def _matches(
    table: Table, changes: pa.Table, scope: Scope, files: Iterable[File], read: Read
) -> Iterator[tuple[File, Mask, Places]]:
    """Files with matching rows: a mask of these rows, and the indices of the changes that they match."""
    columns = [*dict.fromkeys((*table.key, *scope.columns))]
    candidates = [file for file in files if scope.may_have(file)]
    theirs = [read(file, columns) for file in candidates]
    if not theirs:
        return
    keys = pa.chunked_array([_keys(table, rows).combine_chunks() for rows in theirs])
    places = np.asarray(pc.fill_null(pc.index_in(keys, _keys(table, changes).combine_chunks()), -1))
    ends = np.cumsum([rows.num_rows for rows in theirs])
    for file, rows, of_file in zip(candidates, theirs, np.split(places, ends[:-1]), strict=True):
        hit = (of_file >= 0) & np.asarray(scope.mask(rows))
        if hit.any():
            yield file, hit, of_file[hit]


def partition_of(table: Table, file: File) -> Partition:
    """The values of a file's partition columns."""
    return tuple(file[f"partition.{name}"] for name in table.partitioned_by)


def _keys(table: Table, rows: pa.Table) -> pa.ChunkedArray:
    """The key of each row as one column; null counts as a value."""
    columns = [rows[name] for name in table.key]
    if len(columns) == 1:
        return columns[0]
    parts = [_with_length(column.cast(pa.string())) for column in columns]
    return pc.binary_join_element_wise(*parts, ",", null_handling="replace", null_replacement="-")


def _with_length(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts after their lengths, so that no two keys are joined to the same text."""
    return pc.binary_join_element_wise(pc.binary_length(texts).cast(pa.string()), texts, ":")


def _by_partition(table: Table, rows: pa.Table) -> Iterator[tuple[Partition, pa.Table]]:
    """Rows by the values of their partition columns."""
    if not table.partitioned_by:
        if rows.num_rows:
            yield (), rows
        return
    (name,) = table.partitioned_by
    for value in rows[name].unique().to_pylist():
        is_there = rows[name].is_null() if value is None else pc.fill_null(pc.equal(rows[name], value), False)
        yield (value,), rows.filter(is_there)


def split_by_time(table: Table, rows: pa.Table, most: int) -> Iterator[pa.Table]:
    """Rows in order of event time, or else of the first key column, in as few equal parts as possible.

    Args:
        table: its contract.
        rows: its columns.
        most: rows of a part, at most.
    """
    if not rows.num_rows:
        return
    times = table.event_time or table.key[0]
    count = -(-rows.num_rows // most)
    if count == 1:
        yield rows.take(pc.sort_indices(rows[times]))
        return
    order = np.asarray(pc.sort_indices(rows[times]))
    part_of = np.empty(rows.num_rows, np.int64)
    part_of[order] = np.arange(rows.num_rows) * count // rows.num_rows
    for number in range(count):  # `take` fails on a text column of more than 2 GiB, `filter` does not
        part = rows.filter(pa.array(part_of == number))
        yield part.take(pc.sort_indices(part[times]))
