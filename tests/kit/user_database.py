"""The database of a user of the streaming API, SQLite or Postgres."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from millrace.client import PositionStore, PostgresStore, SqliteStore


@dataclass(frozen=True)
class UserDatabase:
    """A database.

    Args:
        store: the store of positions.
        place: path or connection string.
        connect: opens a connection with autocommit.
    """

    store: PositionStore
    place: str
    connect: Callable[[], Any]

    def run(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Run a statement with `?` for values. Returns its rows."""
        with closing(self.connect()) as connection, closing(connection.cursor()) as cursor:
            cursor.execute(self.sql(statement), values)
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []

    def sql(self, statement: str) -> str:
        """The statement with the placeholders of the driver."""
        return statement.replace("?", self.store.marker)


def sqlite_database(path: Path) -> UserDatabase:
    """A SQLite database in a file."""

    def connect() -> Any:
        return sqlite3.connect(path, timeout=60, isolation_level=None)

    return UserDatabase(SqliteStore(path), str(path), connect)


def postgres_database(dsn: str) -> UserDatabase:
    """A Postgres database."""
    return UserDatabase(PostgresStore(dsn), dsn, lambda: psycopg.connect(dsn, autocommit=True))
