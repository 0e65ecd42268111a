"""Limits of queries: time, memory, rows and bytes of the result, and how many run at the same time."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from lakehouse.errors import MillraceError
from lakehouse.rows.duckdb_sql import connect, text_literal

_BATCH = 10_000
_AGAIN_SECONDS = 0.1


class TryLaterError(MillraceError):
    """A request can't be served now."""


@dataclass(frozen=True)
class QueryLimits:
    """Limits of queries.

    Args:
        seconds: how long a query may take; also how long it may wait for others.
        memory: bytes that DuckDB may use, copies of a role's tables included; what exceeds it goes to disk.
        disk: bytes on disk; less if the disk is almost full.
        free_disk: bytes of the disk that queries leave free.
        rows: rows of its result.
        result_bytes: bytes of its result, in Arrow's format or as JSON.
        at_once: queries that run at the same time, one of each reader.
        waiting: queries of a reader that wait.
        kept_bytes: bytes of results that are being sent, or kept for changes; most of them are on disk.
        kept_bytes_of_reader: those of one reader.
    """

    seconds: float = 30.0
    memory: int = 48 << 20
    disk: int = 512 << 20
    free_disk: int = 1 << 30
    rows: int = 100_000
    result_bytes: int = 16 << 20
    at_once: int = 3
    waiting: int = 8
    kept_bytes: int = 128 << 20
    kept_bytes_of_reader: int = 32 << 20


class Spill(NamedTuple):
    """Where a query writes what exceeds its memory.

    Args:
        folder: made by DuckDB if it is needed; whoever runs the query removes it.
        size: bytes that it may take.
    """

    folder: Path
    size: int


class QueryRunner:
    """Runs queries in DuckDB within limits.

    Args:
        limits: the limits; None: no limits.
        spill: for what exceeds the memory; None: nothing may.
        opened: opens a connection, and closes it at the end of the block.
    """

    def __init__(
        self,
        limits: QueryLimits | None = None,
        spill: Spill | None = None,
        opened: Callable[[], AbstractContextManager[Any]] | None = None,
    ) -> None:
        self._limits = limits
        self._spill = spill or Spill(Path(), 0)
        self._opened = opened or (lambda: closing(connect()))

    @contextmanager
    def connection(self) -> Iterator[Any]:
        """A connection for one query, closed at the end of the block.

        Raises:
            MillraceError: if the block takes too long or too much memory.
        """
        limits, spill = self._limits, self._spill
        if limits is None:
            with self._opened() as connection:
                yield connection
            return
        ended = threading.Event()
        try:
            with self._opened() as connection:
                folder = str(spill.folder) if spill.size else ""
                connection.execute(
                    f"SET memory_limit = '{limits.memory}B'; SET temp_directory = {text_literal(folder)};"
                    f" SET max_temp_directory_size = '{spill.size}B'"
                )
                arguments = (connection, ended, limits.seconds)
                watching = threading.Thread(target=_interrupt, args=arguments, daemon=True)
                watching.start()
                try:
                    yield connection
                finally:
                    ended.set()
                    watching.join()
        except duckdb.InterruptException as error:
            raise MillraceError(
                f"the query took more than {limits.seconds:g} s", "Filter it, or ask for fewer tables"
            ) from error
        except duckdb.OutOfMemoryException as error:
            raise MillraceError(
                f"the query needs more than {limits.memory >> 20:,} MiB of memory"
                f" and {spill.size >> 20:,} MiB of disk",
                "Group or filter it",
            ) from error

    def read(self, connection: Any, sql: str) -> Iterator[pa.RecordBatch]:
        """The result of a SELECT in batches, at least one. Reading stops as soon as it is too large.

        Raises:
            MillraceError: if it is too large.
            duckdb.Error: if the query fails.
        """
        reader = connection.sql(sql).to_arrow_reader(_BATCH)
        rows = size = 0
        for batch in reader:
            rows, size = rows + batch.num_rows, size + batch.nbytes
            self.check_size(rows, size)
            yield batch
        if not rows:
            yield pa.RecordBatch.from_pylist([], reader.schema)

    def check_size(self, rows: int, size: int) -> None:
        """Check the rows and bytes of a result.

        Raises:
            MillraceError: if it is too large.
        """
        limits = self._limits
        if limits is not None and (rows > limits.rows or size > limits.result_bytes):
            raise MillraceError(
                f"the query's result has more than {limits.rows:,} rows or {limits.result_bytes >> 20:,} MiB",
                "Group or filter it, or subscribe to the table",
            )


def _interrupt(connection: Any, ended: threading.Event, seconds: float) -> None:
    """Interrupt every statement of a connection once the time is over."""
    wait = seconds
    while not ended.wait(wait):
        connection.interrupt()
        wait = _AGAIN_SECONDS
