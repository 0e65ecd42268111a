"""Stores consumers' positions in a table of the user's database, in the transaction with the changes."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from lakehouse.errors import MillraceError

_CREATE = """CREATE TABLE IF NOT EXISTS millrace_positions (
    name VARCHAR(200) PRIMARY KEY,
    stream TEXT NOT NULL,
    position TEXT,
    row_key TEXT,
    applied BIGINT NOT NULL,
    leader VARCHAR(200),
    leader_until DOUBLE PRECISION NOT NULL
)"""
_INSERT = """INSERT INTO millrace_positions (name, stream, applied, leader_until)
    VALUES (?, ?, 0, 0) ON CONFLICT (name) DO NOTHING"""
_LEAD = """UPDATE millrace_positions SET leader = ?, leader_until = {now} + ?
    WHERE name = ? AND (leader IS NULL OR leader = ? OR leader_until < {now})"""
_RENEW = "UPDATE millrace_positions SET leader_until = {now} + ? WHERE name = ? AND leader = ?"
_RELEASE = "UPDATE millrace_positions SET leader = NULL WHERE name = ? AND leader = ?"
_READ = "SELECT stream, position, row_key, applied FROM millrace_positions WHERE name = ?"
_MOVE = """UPDATE millrace_positions SET position = ?, row_key = ?, applied = applied + 1
    WHERE name = ? AND leader = ? AND applied = ?"""
_FORGET = """UPDATE millrace_positions
    SET position = NULL, row_key = NULL, stream = ?, applied = applied + 1 WHERE name = ?"""


class FencedError(Exception):
    """Another consumer has taken over, so this one must not apply its group."""


class Cursor(Protocol):
    """A cursor of the Python database API, with the driver's placeholders: `?` or `%s`."""

    @property
    def rowcount(self) -> int:
        """Rows that the last statement changed."""

    def execute(self, query: Any, params: Any = (), /) -> Any:
        """Run a statement."""

    def executemany(self, query: Any, params_seq: Any, /) -> Any:
        """Run a statement for each of several tuples."""

    def fetchone(self) -> Any:
        """The next row of the result; None if there is none."""

    def fetchall(self) -> list[Any]:
        """All rows of the result."""


class Connection(Protocol):
    """A connection to the database."""

    def close(self) -> None:
        """Close the connection. An open transaction is rolled back."""


@dataclass(frozen=True)
class StoredPosition:
    """A consumer's stored position.

    Args:
        position: resume token; None before the first group.
        key: columns that identify a row, from the last reset.
        applied: number of applied groups. It only increases, so it shows whether another consumer was faster.
    """

    position: str | None
    key: tuple[str, ...] | None
    applied: int


class PositionStore(ABC):
    """Stores positions in the table `millrace_positions` of a database, one row per consumer name.

    The row also has the leader's lease. The lease only saves stand-bys work; a compare-and-set of the row's
    number of applied groups ensures that no group is applied twice.
    """

    marker = "?"
    """Placeholder of a value in SQL."""
    now = "0"
    """SQL expression of the database's current time in seconds."""

    @abstractmethod
    def connect(self, lease: float) -> Connection:
        """Open a connection.

        Args:
            lease: seconds after which an idle transaction is rolled back, if the database supports that.
        """

    @abstractmethod
    def transaction(self, connection: Any) -> Any:
        """A context manager that yields a cursor and commits, or rolls back after an exception."""

    @abstractmethod
    def is_transient(self, error: Exception) -> bool:
        """Whether the same transaction may succeed later: a lost connection, a lock, a deadlock."""

    def prepare(self, connection: Connection, name: str, stream: Mapping[str, Any]) -> None:
        """Create the table and the row of a consumer if they do not exist.

        Raises:
            MillraceError: if a consumer with this name follows something else.
        """
        text = json.dumps(stream, sort_keys=True)
        with self.transaction(connection) as cursor:
            self._make_row(cursor, name, text)
            cursor.execute(self._sql(_READ), (name,))
            stored = cursor.fetchone()[0]
        if stored != text:
            raise MillraceError(
                f"the position of consumer {name} is of {stored}, not of {text}",
                "Take another name, or call restart() to begin with all rows",
            )

    def lead(self, connection: Connection, name: str, leader: str, lease: float) -> StoredPosition | None:
        """Take or renew the lease, and read the position; None if another consumer holds the lease."""
        with self.transaction(connection) as cursor:
            cursor.execute(self._sql(_LEAD), (leader, lease, name, leader))
            if cursor.rowcount != 1:
                return None
            cursor.execute(self._sql(_READ), (name,))
            _, position, key, applied = cursor.fetchone()
        return StoredPosition(position, None if key is None else tuple(json.loads(key)), applied)

    def renew(self, connection: Connection, name: str, leader: str, lease: float) -> bool:
        """Renew the lease. False if another consumer holds it."""
        with self.transaction(connection) as cursor:
            cursor.execute(self._sql(_RENEW), (lease, name, leader))
            return bool(cursor.rowcount == 1)

    def release(self, connection: Connection, name: str, leader: str) -> None:
        """Release the lease."""
        with self.transaction(connection) as cursor:
            cursor.execute(self._sql(_RELEASE), (name, leader))

    @contextmanager
    def moving(
        self,
        connection: Connection,
        name: str,
        leader: str,
        had: StoredPosition,
        moved: StoredPosition,
        lease: float,
    ) -> Iterator[Cursor]:
        """A transaction that moves the position, and in which the changes of a group are applied.

        The position moves first: this locks the row, so other consumers wait for the end of the transaction.

        Raises:
            FencedError: if the position or the leader has changed. The transaction is rolled back.
        """
        key = None if moved.key is None else json.dumps(moved.key)
        with self.transaction(connection) as cursor:
            cursor.execute(self._sql(_MOVE), (moved.position, key, name, leader, had.applied))
            if cursor.rowcount != 1:
                raise FencedError
            yield cursor
            cursor.execute(self._sql(_RENEW), (lease, name, leader))  # the group may have taken long

    def forget(self, connection: Connection, name: str, stream: Mapping[str, Any]) -> None:
        """Delete the position, so that a reset with all rows follows."""
        text = json.dumps(stream, sort_keys=True)
        with self.transaction(connection) as cursor:
            self._make_row(cursor, name, text)
            cursor.execute(self._sql(_FORGET), (text, name))

    def has_table(self, cursor: Cursor) -> bool:
        """Whether the table of positions is known to exist."""
        return False

    def _make_row(self, cursor: Cursor, name: str, text: str) -> None:
        if not self.has_table(cursor):
            cursor.execute(_CREATE)
        cursor.execute(self._sql(_INSERT), (name, text))

    def _sql(self, text: str) -> str:
        return text.replace("?", self.marker).replace("{now}", self.now)


def broken_transaction() -> MillraceError:
    """The error for a transaction that ended while a group was applied."""
    return MillraceError(
        "the transaction of a group was ended while the group was applied",
        "Leave COMMIT, ROLLBACK and SQLite's executescript out of it: the consumer ends it",
    )
