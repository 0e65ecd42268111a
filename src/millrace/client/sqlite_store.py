"""Positions in SQLite."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

from millrace.client.position_store import PositionStore, broken_transaction

_BUSY_SECONDS = 30.0


class SqliteStore(PositionStore):
    """Positions in an SQLite file. All consumers must be on one machine, like SQLite's locks.

    Args:
        path: the database; created if it does not exist.
    """

    now = "((julianday('now') - 2440587.5) * 86400.0)"

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = path

    def connect(self, lease: float) -> sqlite3.Connection:
        """Open the file. Statements wait up to 30 s for the lock of another process."""
        return sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)

    @contextmanager
    def transaction(self, connection: sqlite3.Connection) -> Iterator[sqlite3.Cursor]:
        """A transaction that takes the write lock at its start."""
        cursor = connection.cursor()
        cursor.execute("BEGIN IMMEDIATE")
        try:
            yield cursor
            if not connection.in_transaction:
                raise broken_transaction()
            cursor.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                cursor.execute("ROLLBACK")
            raise

    def is_transient(self, error: Exception) -> bool:
        """Whether another process held a lock."""
        busy = isinstance(error, sqlite3.OperationalError)
        return busy and any(word in str(error) for word in ("locked", "busy"))
