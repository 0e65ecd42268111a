"""Rows of data files of a table in a folder, read without Spark."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable

from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.table import Table

_DELETION_VECTORS = "deletionVectors"
_ROWS = 16_384
_BUFFER = 64 << 10
"""Bytes of each column that are read at a time: else all of a row group would be in memory."""


class DataFile(NamedTuple):
    """A data file of a version.

    Args:
        path: relative to the table's folder, decoded: the log has URLs.
        partition: values of the partition columns, typed or as in the log.
        has_deletion_vector: whether a deletion vector may mark some of its rows as deleted.
    """

    path: str
    partition: Mapping[str, Any]
    has_deletion_vector: bool


def file_of(action: Mapping[str, Any]) -> DataFile:
    """The file that an `add` or `remove` of the log names."""
    has_vector = bool(action.get("deletionVector"))
    return DataFile(unquote(action["path"]), action.get("partitionValues") or {}, has_vector)


def has_deletion_vectors(table: DeltaTable) -> bool:
    """Whether files of a table may have deletion vectors."""
    return _DELETION_VECTORS in (table.protocol().reader_features or ())


def live_files(table: DeltaTable) -> list[DataFile]:
    """The data files of the version that a table is opened at."""
    has_vectors = has_deletion_vectors(table)
    return [
        DataFile(
            unquote(file["path"]),
            {name[len("partition.") :]: file[name] for name in file if name.startswith("partition.")},
            has_vectors,
        )
        for file in _paths(table)
    ]


def read_files(folder: Path, table: Table, files: Iterable[DataFile], version: int) -> pa.Table:
    """Rows of files, in the columns of the contract; null where a file has no such column.

    Args:
        folder: of the table.
        table: its contract.
        files: files that are live in that version.
        version: of the table, whose deletion vectors apply.

    Raises:
        FileNotFoundError: if VACUUM has removed a file.
        DeltaError: if a file has a deletion vector and that version can no longer be opened.
    """
    return pa.concat_tables([arrow_schema(table).empty_table(), *read_parts(folder, table, files, version)])


def read_parts(
    folder: Path, table: Table, files: Iterable[DataFile], version: int, most_rows: int = _ROWS
) -> Iterator[pa.Table]:
    """The same rows in parts of at most 16,384, or `most_rows`, which take less memory than whole files."""
    files = list(files)
    kept = _kept_rows(folder, version) if any(file.has_deletion_vector for file in files) else {}
    for file in files:
        mask = kept.get(file.path) if file.has_deletion_vector else None
        start = 0
        for rows in _read(folder / file.path, table, file.partition, most_rows):
            part = None if mask is None else _padded(mask.slice(start, rows.num_rows), rows.num_rows)
            yield rows if part is None else rows.filter(part)
            start += rows.num_rows


def _paths(table: DeltaTable) -> list[dict[str, Any]]:
    files = pa.table(table.get_add_actions(flatten=True))
    names = [name for name in files.column_names if name == "path" or name.startswith("partition.")]
    found: list[dict[str, Any]] = files.select(names).to_pylist()
    return found


def _read(path: Path, table: Table, partition: Mapping[str, Any], most_rows: int) -> Iterator[pa.Table]:
    schema = arrow_schema(table)
    checked = {"page_checksum_verification": True, "coerce_int96_timestamp_unit": "us"}
    with pq.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER, **checked) as file:
        there = set(file.schema_arrow.names) - set(partition)
        for stored in file.iter_batches(most_rows, columns=[name for name in schema.names if name in there]):
            columns = {}
            for field in schema:
                if field.name in there:
                    columns[field.name] = stored[field.name].cast(field.type)
                else:
                    value = pa.array([partition.get(field.name)]).cast(field.type)[0]
                    columns[field.name] = pa.repeat(value, stored.num_rows)
            yield pa.table(columns, schema=schema)


def _kept_rows(folder: Path, version: int) -> dict[str, pa.Array]:
    """By file with a deletion vector: for each row, whether it is not deleted."""
    vectors = pa.table(DeltaTable(folder, version=version).deletion_vectors())
    root = folder.resolve()
    return {
        str(Path(unquote(urlparse(uri).path)).resolve().relative_to(root)): kept.values
        for uri, kept in zip(vectors["filepath"].to_pylist(), vectors["selection_vector"], strict=True)
    }


def _padded(mask: pa.Array, count: int) -> pa.Array:
    """Extend a mask to all rows: a deletion vector may end at the last deleted row."""
    rest = pa.repeat(pa.scalar(True), count - len(mask))
    return pc.fill_null(pa.concat_arrays([mask, rest]), True)
