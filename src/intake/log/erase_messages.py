"""Erases messages from the collector's log, and what SQLite still has of removed ones."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from intake.log.schema import open_log

Named = Callable[[Sequence[bytes]], set[int]]
"""Returns the numbers, from 0, of the values that name a person."""

_AT_ONCE = 1000
_TABLES = ("messages", "shed")


def erase_messages(file: Path, is_named: Named) -> int:
    """Delete waiting and shed messages that name a person, and overwrite the file's free space. Idempotent.

    They no longer count as received, nor as shed. A collector may be running: it counts its messages again.
    What it is just sending arrives in Kafka all the same, and is dropped by refine.

    Args:
        file: the log.
        is_named: finds the messages that name a person.

    Returns:
        The number of messages.
    """
    with closing(open_log(file)) as connection:
        count = sum(_erase_from(connection, table, is_named) for table in _TABLES)
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return count


def _erase_from(connection: sqlite3.Connection, table: str, is_named: Named) -> int:
    found = [sequence for batch in _batches(connection, table) for sequence in _named_in(batch, is_named)]
    for start in range(0, len(found), _AT_ONCE):
        _delete(connection, table, found[start : start + _AT_ONCE])
    return len(found)


def _batches(connection: sqlite3.Connection, table: str) -> Iterator[list[tuple[int, bytes]]]:
    content = "CAST(coalesce(key, x'') || x'ff' || value AS BLOB)"
    rows = connection.execute(f"SELECT sequence, {content} FROM {table} WHERE value IS NOT NULL")
    while batch := rows.fetchmany(_AT_ONCE):
        yield batch


def _named_in(batch: Sequence[tuple[int, bytes]], is_named: Named) -> list[int]:
    return [batch[number][0] for number in is_named([content for _, content in batch])]


def _delete(connection: sqlite3.Connection, table: str, sequences: Sequence[int]) -> None:
    """Delete messages that are still there, with their counts, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    for sequence in sequences:
        query = f"DELETE FROM {table} WHERE sequence = ? RETURNING source"
        for (source,) in connection.execute(query, (sequence,)).fetchall():
            shed = ", shed = shed - 1" if table == "shed" else ""
            connection.execute(f"UPDATE counts SET received = received - 1{shed} WHERE source = ?", (source,))
    connection.execute("COMMIT")
