"""Limits of queries: time, memory, rows and bytes of the result, and how many run at the same time."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from lakehouse.errors import MillraceError
from lakehouse.rows.duckdb_sql import connect

_BATCH = 10_000
_AGAIN_SECONDS = 0.1


class TryLaterError(MillraceError):
    """A request can't be served now."""


@dataclass(frozen=True)
class QueryLimits:
    """Limits of each query.

    Args:
        seconds: how long it may take; also how long it may wait for others.
        memory: bytes that DuckDB may use, copies of a role's tables included.
        rows: rows of its result.
        result_bytes: bytes of its result, in Arrow's format.
        at_once: queries that run at the same time.
    """

    seconds: float = 30.0
    memory: int = 1 << 30
    rows: int = 100_000
    result_bytes: int = 64 << 20
    at_once: int = 2


class QueryRunner:
    """Runs queries in DuckDB within limits.

    Args:
        limits: the limits; None: no limits.
    """

    def __init__(self, limits: QueryLimits | None = None) -> None:
        self._limits = limits
        self._turns = threading.BoundedSemaphore(limits.at_once if limits else 1)

    @contextmanager
    def connection(self) -> Iterator[Any]:
        """A connection for one query, closed at the end of the block.

        Raises:
            TryLaterError: if other queries run all the time.
            MillraceError: if the block takes too long or too much memory.
        """
        limits = self._limits
        if limits is None:
            yield connect()
            return
        if not self._turns.acquire(timeout=limits.seconds):
            raise TryLaterError("too many queries run", "Try again later")
        connection, ended = connect(), threading.Event()
        watching = threading.Thread(target=_interrupt, args=(connection, ended, limits.seconds), daemon=True)
        try:
            connection.execute(f"SET memory_limit = '{limits.memory}B'; SET temp_directory = ''")
            watching.start()
            yield connection
        except duckdb.InterruptException as error:
            raise MillraceError(
                f"the query took more than {limits.seconds:g} s", "Filter it, or ask for fewer tables"
            ) from error
        except duckdb.OutOfMemoryException as error:
            raise MillraceError(
                f"the query needs more than {limits.memory >> 20:,} MiB of memory", "Group or filter it"
            ) from error
        finally:
            ended.set()
            if watching.ident is not None:
                watching.join()
            connection.close()
            self._turns.release()

    def fetch(self, connection: Any, sql: str) -> pa.Table:
        """The result of a SELECT. Reading stops as soon as it is too large.

        Raises:
            MillraceError: if it is too large.
            duckdb.Error: if the query fails.
        """
        found = connection.sql(sql)
        if self._limits is None:
            return found.to_arrow_table()
        reader = found.to_arrow_reader(_BATCH)
        batches, rows, size = [], 0, 0
        for batch in reader:
            batches.append(batch)
            rows, size = rows + batch.num_rows, size + batch.nbytes
            if rows > self._limits.rows or size > self._limits.result_bytes:
                raise MillraceError(
                    f"the query's result has more than {self._limits.rows:,} rows"
                    f" or {self._limits.result_bytes >> 20:,} MiB",
                    "Group or filter it, or subscribe to the table",
                )
        return pa.Table.from_batches(batches, reader.schema)


def _interrupt(connection: Any, ended: threading.Event, seconds: float) -> None:
    """Interrupt every statement of a connection once the time is over."""
    wait = seconds
    while not ended.wait(wait):
        connection.interrupt()
        wait = _AGAIN_SECONDS
