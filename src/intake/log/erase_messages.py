"""Erases messages from the collector's log, and what SQLite still has of removed ones."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from intake.log.schema import open_log

Find = Callable[[Sequence[tuple[bytes | None, bytes]]], set[int]]
"""Returns the numbers, from 0, of keys and values that are a person's."""

_Row = tuple[int, bytes | None, bytes]
_AT_ONCE = 1000
_TABLES = ("messages", "shed")


def erase_messages(file: Path, find: Find) -> int:
    """Delete waiting and shed messages of a person, and overwrite the file's free space. Idempotent.

    They no longer count as received, nor as shed. A collector may be running: it counts its messages again.
    What it is just sending arrives in Kafka all the same, and is dropped by refine.

    Args:
        file: the log.
        find: finds the person's messages.

    Returns:
        The number of messages.
    """
    with closing(open_log(file)) as connection:
        count = sum(_erase_from(connection, table, find) for table in _TABLES)
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return count


def _erase_from(connection: sqlite3.Connection, table: str, find: Find) -> int:
    found = [sequence for batch in _batches(connection, table) for sequence in _found_in(batch, find)]
    for start in range(0, len(found), _AT_ONCE):
        _delete(connection, table, found[start : start + _AT_ONCE])
    return len(found)


def _batches(connection: sqlite3.Connection, table: str) -> Iterator[list[_Row]]:
    rows = connection.execute(f"SELECT sequence, key, value FROM {table} WHERE value IS NOT NULL")
    while batch := rows.fetchmany(_AT_ONCE):
        yield batch


def _found_in(batch: Sequence[_Row], find: Find) -> list[int]:
    return [batch[number][0] for number in find([(key, value) for _, key, value in batch])]


def _delete(connection: sqlite3.Connection, table: str, sequences: Sequence[int]) -> None:
    """Delete messages that are still there, with their counts, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    for sequence in sequences:
        query = f"DELETE FROM {table} WHERE sequence = ? RETURNING source"
        for (source,) in connection.execute(query, (sequence,)).fetchall():
            shed = ", shed = shed - 1" if table == "shed" else ""
            connection.execute(f"UPDATE counts SET received = received - 1{shed} WHERE source = ?", (source,))
    connection.execute("COMMIT")
