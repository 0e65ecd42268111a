"""Reads the messages of the collector's log that Kafka does not have yet."""

import sqlite3
from contextlib import closing
from pathlib import Path

from intake.log.entries import Logged
from intake.log.schema import open_log

_BYTES = 4 << 20
"""Bytes of values after which a read ends."""


class PendingReader:
    """A connection that reads messages, made again after an error. For one thread.

    Args:
        file: the database, with its tables.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._connection: sqlite3.Connection | None = None

    def read(self, after: int, most: int) -> list[Logged]:
        """Messages after a sequence number, in order, up to about 4 MiB.

        Raises:
            sqlite3.Error: if the log can't be read.
        """
        connection = self._connection or open_log(self._file)
        self._connection = None  # of no use after an error
        rows = connection.execute(
            "SELECT sequence, receipt, source, logged_at, key, value, promise FROM messages"
            " WHERE sequence > ? ORDER BY sequence LIMIT ?",
            (after, most),
        )
        found, size = list[Logged](), 0
        with closing(rows):
            for row in rows:
                found.append(Logged(*row))
                size += len(found[-1].value or b"")
                if size >= _BYTES:
                    break
        self._connection = connection
        return found
