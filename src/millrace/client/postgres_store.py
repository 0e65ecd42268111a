"""Positions in Postgres."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lakehouse.errors import MillraceError
from millrace.client.position_store import Cursor, PositionStore, broken_transaction

if TYPE_CHECKING:
    import psycopg


class PostgresStore(PositionStore):
    """Positions in Postgres.

    Args:
        dsn: connection string, e.g. `host=db dbname=shop` or a postgresql:// URL.

    Raises:
        MillraceError: if psycopg is not installed.
    """

    marker = "%s"
    now = "extract(epoch FROM clock_timestamp())"

    def __init__(self, dsn: str) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise MillraceError(
                "psycopg is not installed", "Install Millrace's wheel with the extra `postgres`"
            ) from error
        self._dsn = dsn
        self._psycopg = psycopg

    def connect(self, lease: float) -> psycopg.Connection[Any]:
        """Connect. Postgres ends a transaction that is idle for longer than the lease.

        So a leader that is paused in a transaction does not block its stand-bys.
        """
        connection = self._psycopg.connect(self._dsn, autocommit=True, connect_timeout=10)
        connection.execute(f"SET idle_in_transaction_session_timeout = {int(lease * 1000)}")
        return connection

    @contextmanager
    def transaction(self, connection: psycopg.Connection[Any]) -> Iterator[psycopg.Cursor[Any]]:
        """A transaction, which must still be open at the end of the block."""
        with connection.transaction(), connection.cursor() as cursor:
            yield cursor
            if connection.info.transaction_status != self._psycopg.pq.TransactionStatus.INTRANS:
                raise broken_transaction()

    def is_transient(self, error: Exception) -> bool:
        """Whether the connection was lost, or the transaction conflicted with another one."""
        idle = self._psycopg.errors.IdleInTransactionSessionTimeout
        return isinstance(error, (self._psycopg.OperationalError, idle))

    def has_table(self, cursor: Cursor) -> bool:
        """Whether the table exists: a user may lack the right to create it. Takes a lock for the check."""
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('millrace_positions'))")
        cursor.execute("SELECT to_regclass('millrace_positions') IS NOT NULL")
        return bool(cursor.fetchone()[0])
