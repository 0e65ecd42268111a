"""The result of a standing query at versions of its tables."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import duckdb
import pyarrow as pa
from deltalake.exceptions import DeltaError

from lakehouse.access.role import Role, everything
from lakehouse.delta.role_tables import lock
from lakehouse.errors import MillraceError
from lakehouse.readers.folder_tables import FolderTables
from lakehouse.readers.versioned_tables import VersionedTables
from lakehouse.rows.row_json import key_json, row_json
from serving.admission import StandingText
from serving.query_limits import QueryRunner
from serving.role_query import answer_in_batches
from serving.sources.row_changes import KeyedRow
from serving.sources.source import CHUNK

_PART_BYTES = 32 << 10
"""Least bytes of a part, except for the last one: whoever receives it takes the interpreter lock for each."""


class Part(NamedTuple):
    """Rows of a result as JSON, one a line.

    Args:
        rows: the rows.
        keys: their keys; None if they have none.
    """

    rows: bytes
    keys: bytes | None = None

    @property
    def texts(self) -> tuple[bytes, ...]:
        """The rows, and the keys if there are any."""
        return (self.rows,) if self.keys is None else (self.rows, self.keys)

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return sum(map(len, self.texts))

    def keyed(self) -> Iterator[KeyedRow]:
        """The rows with their keys; a row without a key is its own."""
        rows = self.rows.split(b"\n")
        yield from zip(rows if self.keys is None else self.keys.split(b"\n"), rows, strict=True)


def result_parts(
    tables: VersionedTables,
    query: StandingText,
    versions: Mapping[str, int],
    role: Role | None = None,
    runner: QueryRunner | None = None,
) -> Iterator[list[str] | Part]:
    """The columns of a result, then its rows as they come from DuckDB; see `compute`."""
    runner = runner or QueryRunner()
    key: tuple[str, ...] | None = None
    size, waiting = 0, list[Part]()
    for batch in _batches(tables, query, versions, role, runner):
        if key is None:
            columns = batch.schema.names
            yield columns
            key = key_of(query, columns)
        for part in _parts(batch, key):
            size += part.size
            runner.check_size(0, size)
            waiting.append(part)
            if sum(each.size for each in waiting) >= _PART_BYTES:
                yield _joined(waiting)
                waiting.clear()
    if waiting:
        yield _joined(waiting)


def _joined(parts: Sequence[Part]) -> Part:
    keys = [part.keys for part in parts if part.keys is not None]
    return Part(b"\n".join(part.rows for part in parts), b"\n".join(keys) if keys else None)


def _parts(batch: pa.RecordBatch, key: tuple[str, ...]) -> Iterator[Part]:
    for start in range(0, batch.num_rows, CHUNK):
        rows = batch.slice(start, CHUNK).to_pylist()
        keys = b"\n".join(key_json(row, key) for row in rows) if key else None
        yield Part(b"\n".join(map(row_json, rows)), keys)


def key_of(query: StandingText, columns: list[str]) -> tuple[str, ...]:
    """The columns of GROUP BY; empty if the result does not have all of them."""
    return tuple(columns[place] for place in (query.key if columns else None) or ())


def compute(
    tables: VersionedTables,
    query: StandingText,
    versions: Mapping[str, int],
    role: Role | None = None,
    runner: QueryRunner | None = None,
) -> pa.Table:
    """The result of a query at versions of its tables, the same at each call.

    DuckDB can read only the tables' files, and has one thread, so that sums of floats always have the same
    order.

    Args:
        tables: the tables.
        query: the query.
        versions: versions by table.
        role: role of the reader; None: a reader who sees everything.
        runner: runs it within limits; None: without limits.

    Raises:
        MillraceError: if the query fails or exceeds a limit, or a version can't be read any more.
    """
    return pa.Table.from_batches(_batches(tables, query, versions, role, runner or QueryRunner()))


def _batches(
    tables: VersionedTables,
    query: StandingText,
    versions: Mapping[str, int],
    role: Role | None,
    runner: QueryRunner,
) -> Iterator[pa.RecordBatch]:
    try:
        if isinstance(tables, FolderTables) and (role is None or role.is_unrestricted):
            found = _answer(query.sql, tables, versions, runner)
        else:
            opened = {name: tables.at(name, version) for name, version in versions.items()}
            found = answer_in_batches(query.sql, role or everything(), opened, runner, threads=1)
        for batch in found:
            if len(set(batch.schema.names)) < batch.num_columns:
                raise MillraceError(
                    "two columns of the query have one name", "Name them, as in `SELECT a AS b`"
                )
            yield batch
    except (DeltaError, FileNotFoundError, duckdb.IOException) as error:
        at = ", ".join(f"{name} {version}" for name, version in versions.items())
        raise MillraceError(
            f"the query can't be computed at versions {at}: {' '.join(str(error).split())[:200]}",
            "If they are gone (`vacuum_retention`), begin with a snapshot: remove the file of --resume",
        ) from error
    except duckdb.Error as error:
        raise MillraceError(
            str(error).splitlines()[0], "`DESCRIBE layer.table` in `millrace sql` shows the columns"
        ) from error


def _answer(
    sql: str, tables: FolderTables, versions: Mapping[str, int], runner: QueryRunner
) -> Iterator[pa.RecordBatch]:
    """The result of a query on files, which DuckDB reads itself."""
    opened = {name: tables.at(name, version) for name, version in versions.items()}
    with runner.connection() as connection:
        connection.execute("SET threads = 1")
        for name, table in opened.items():
            table.add_view(connection, name)
        lock(connection, [str(tables.folder(name).resolve()) for name in opened])
        yield from runner.read(connection, sql)
