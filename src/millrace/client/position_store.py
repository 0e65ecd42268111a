"""The position of a consumer in a table of the user's database, changed in the transaction of the effects."""

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
    """Another consumer has taken over: what this one has received must not be applied."""


class Cursor(Protocol):
    """A cursor of the Python database API. Placeholders are those of the driver: `?` or `%s`."""

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
        """End it. An open transaction is rolled back."""


@dataclass(frozen=True)
class StoredPosition:
    """How far a consumer has come.

    Args:
        position: resume token; None before the first group.
        key: columns that identify a row, as the last reset named them.
        applied: groups so far. It never goes back, so it tells whether another consumer was faster.
    """

    position: str | None
    key: tuple[str, ...] | None
    applied: int


class PositionStore(ABC):
    """Keeps positions in the table `millrace_positions` of a database, one row a consumer.

    The row also has the lease of the consumer that leads. The lease only spares a stand-by the work: that no
    group is applied twice follows from the row's number of groups, which is compared as it is raised.
    """

    marker = "?"
    """Placeholder of a value in SQL."""
    now = "0"
    """SQL of the database's time in seconds."""

    @abstractmethod
    def connect(self, lease: float) -> Connection:
        """Open a connection.

        Args:
            lease: seconds after which a transaction that its program leaves alone is rolled back, if the
                database can do that.
        """

    @abstractmethod
    def transaction(self, connection: Any) -> Any:
        """A context manager of a transaction: yields a cursor, commits, or rolls back at an exception."""

    @abstractmethod
    def is_transient(self, error: Exception) -> bool:
        """Whether the same transaction may succeed later: a lost connection, a lock, a deadlock."""

    def prepare(self, connection: Connection, name: str, stream: Mapping[str, Any]) -> None:
        """Make the table and the row of a consumer.

        Raises:
            MillraceError: if a consumer of this name follows something else.
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
        """Take or renew the lease, and read the position; None if another consumer has it."""
        with self.transaction(connection) as cursor:
            cursor.execute(self._sql(_LEAD), (leader, lease, name, leader))
            if cursor.rowcount != 1:
                return None
            cursor.execute(self._sql(_READ), (name,))
            _, position, key, applied = cursor.fetchone()
        return StoredPosition(position, None if key is None else tuple(json.loads(key)), applied)

    def renew(self, connection: Connection, name: str, leader: str, lease: float) -> bool:
        """Renew the lease. False if another consumer has it."""
        with self.transaction(connection) as cursor:
            cursor.execute(self._sql(_RENEW), (lease, name, leader))
            return bool(cursor.rowcount == 1)

    def release(self, connection: Connection, name: str, leader: str) -> None:
        """Give the lease up."""
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
        """A transaction that moves the position, and in which the effects of a group are written.

        The move comes first: it locks the row, so another consumer waits for the end of the transaction.

        Raises:
            FencedError: if the position or the leader is another one by now. Nothing is changed then.
        """
        key = None if moved.key is None else json.dumps(moved.key)
        with self.transaction(connection) as cursor:
            cursor.execute(self._sql(_MOVE), (moved.position, key, name, leader, had.applied))
            if cursor.rowcount != 1:
                raise FencedError
            yield cursor
            cursor.execute(self._sql(_RENEW), (lease, name, leader))  # it may have taken long

    def forget(self, connection: Connection, name: str, stream: Mapping[str, Any]) -> None:
        """Forget the position: a reset with all rows follows."""
        text = json.dumps(stream, sort_keys=True)
        with self.transaction(connection) as cursor:
            self._make_row(cursor, name, text)
            cursor.execute(self._sql(_FORGET), (text, name))

    def has_table(self, cursor: Cursor) -> bool:
        """Whether the table of positions is known to be there."""
        return False

    def _make_row(self, cursor: Cursor, name: str, text: str) -> None:
        if not self.has_table(cursor):
            cursor.execute(_CREATE)
        cursor.execute(self._sql(_INSERT), (name, text))

    def _sql(self, text: str) -> str:
        return text.replace("?", self.marker).replace("{now}", self.now)


def broken_transaction() -> MillraceError:
    """The error of a transaction that was ended while a group was applied."""
    return MillraceError(
        "the transaction of a group was ended while the group was applied",
        "Leave COMMIT, ROLLBACK and SQLite's executescript out of it: the consumer ends it",
    )
