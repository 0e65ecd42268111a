"""Searches Parquet files: values and dictionaries of all columns with text or bytes, and what is between."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from privacy.search.matching.matcher import Matcher
from privacy.search.matching.values import find_in_values
from privacy.search.places import Counts, RawCounts

MAGIC = b"PAR1"

_BYTES = ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
_BATCH_BYTES = 16 << 20
_MAX_ROWS = 65_536


def search_parquet(matcher: Matcher, file: BinaryIO, raw: RawCounts) -> Counts:
    """Matches by part and encoding.

    Args:
        matcher: of the identifiers.
        file: a Parquet file.
        raw: matches in its bytes by `part_of`. Those in pages with matching values are the same.
    """
    found: Counts = Counter()
    metadata = pq.read_metadata(file)
    reader = pq.ParquetFile(
        file, read_dictionary=_with_dictionary(metadata), buffer_size=1 << 20, pre_buffer=False
    )
    for group in range(metadata.num_row_groups):
        for top, paths in _columns(metadata.row_group(group)).items():
            found.update(_search_column(matcher, reader, group, top, paths))
    for (part, encoding, is_whole), count in raw.items():
        if is_whole and not _has_values(found, part):
            found[part, encoding] += count
    return found


def _with_dictionary(metadata: pq.FileMetaData) -> list[str]:
    """Columns that can be read as they are, with their dictionaries."""
    found: dict[str, bool] = {}
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            is_plain = not any(each.startswith("DELTA") for each in column.encodings)
            can = column.physical_type == "BYTE_ARRAY" and column.has_dictionary_page and is_plain
            found[column.path_in_schema] = can and found.get(column.path_in_schema, True)
    return [path for path, can in found.items() if can]


def _columns(group: pq.RowGroupMetaData) -> dict[str, list[pq.ColumnChunkMetaData]]:
    """By column of the table, the columns of text and bytes in it."""
    found: dict[str, list[pq.ColumnChunkMetaData]] = {}
    for number in range(group.num_columns):
        column = group.column(number)
        if column.physical_type in _BYTES:
            found.setdefault(column.path_in_schema.partition(".")[0], []).append(column)
    return found


def _search_column(
    matcher: Matcher, reader: pq.ParquetFile, group: int, top: str, columns: Sequence[pq.ColumnChunkMetaData]
) -> Counts:
    """Matches in the values of a column; values of dictionaries that no row has count once a row group."""
    paths = [column.path_in_schema for column in columns]
    size = sum(each.total_uncompressed_size for each in columns)
    rows = reader.metadata.row_group(group).num_rows
    batch = max(1, min(_MAX_ROWS, _BATCH_BYTES * max(rows, 1) // max(size, 1)))
    used: Counts = Counter()
    unused: Counts = Counter()
    for table in reader.iter_batches(batch_size=batch, row_groups=[group], columns=paths):
        for path, array in leaves(table.column(0), top):
            values, weights = values_of(array)
            for number, match in find_in_values(matcher, values):
                if match.is_whole:
                    used[f"column {path}", match.encoding] += int(weights[number])
                    unused[f"column {path}, dictionary", match.encoding] += not weights[number]
    return used + (unused if not +used else Counter())


def values_of(array: pa.Array) -> tuple[Iterable[bytes], Sequence[int]]:
    """Values of a column, or of its dictionary, and how many rows each is in."""
    if not pa.types.is_dictionary(array.type):
        values = array.drop_null().cast(pa.large_binary()).to_pylist()
        return values, [1] * len(values)
    dictionary = array.dictionary.cast(pa.large_binary())
    indices = array.indices.drop_null().to_numpy(zero_copy_only=False)
    return dictionary.to_pylist(), np.bincount(indices, minlength=len(dictionary)).tolist()


def leaves(array: pa.Array, path: str) -> Iterator[tuple[str, pa.Array]]:
    """The arrays of text and bytes in a nested one, each with its path."""
    kind = array.type
    if pa.types.is_struct(kind):
        for field, each in zip(kind, array.flatten(), strict=True):
            yield from leaves(each, f"{path}.{field.name}")
    elif pa.types.is_map(kind):
        yield from leaves(array.keys, f"{path}.key")
        yield from leaves(array.items, f"{path}.value")
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        yield from leaves(array.flatten(), path)
    elif not pa.types.is_decimal(kind):
        yield path, array


def part_of(file: BinaryIO) -> Callable[[int], str]:
    """A function that names the part of a Parquet file with a byte: pages of a column, or the footer."""
    metadata = pq.read_metadata(file)
    spans = []
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            start = min(filter(None, (column.dictionary_page_offset, column.data_page_offset)))
            spans.append((start, start + column.total_compressed_size, column.path_in_schema.split(".")[0]))
    spans.sort()
    starts = [start for start, _, _ in spans]

    def name(place: int) -> str:
        near = bisect_right(starts, place) - 1
        return f"pages of {spans[near][2]}" if near >= 0 and place < spans[near][1] else "footer"

    return name


def _has_values(found: Counts, part: str) -> bool:
    """Whether values match of the column whose pages are a part."""
    column = part.replace("pages of", "column")
    return any(each.startswith((f"{column},", f"{column}.")) or each == column for each, _ in found)
