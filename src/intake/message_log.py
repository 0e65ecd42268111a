"""The collector's own log: messages are durable here before they are acknowledged."""

import queue
import sqlite3
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from intake.segment_requests import Message

_GROUP_BYTES = 4 << 20
"""Bytes of messages that one commit takes at most: requests that wait are committed together."""

_TABLES = """
CREATE TABLE IF NOT EXISTS messages (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    receipt TEXT NOT NULL,
    key BLOB,
    value BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS delivered (
    receipt TEXT NOT NULL,
    partition INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    at INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER))
);
CREATE INDEX IF NOT EXISTS delivered_by_receipt ON delivered (receipt);
CREATE INDEX IF NOT EXISTS delivered_by_time ON delivered (at);
"""
_COUNTED = "SELECT count(*), coalesce(sum(length(value)), 0), coalesce(max(sequence), 0) FROM messages"
_FORGET_OLD = "DELETE FROM delivered WHERE at < CAST(strftime('%s', 'now') AS INTEGER) - ?"
_RECEIPT_SECONDS = 7 * 24 * 3600
"""How long a receipt's places in Kafka are kept."""


class OverloadedError(Exception):
    """The log, or the queue before it, has no room for now: try again later."""


class UnavailableError(Exception):
    """The log cannot be written: the disk is full or broken."""


class Delivered(NamedTuple):
    """A message in Kafka: the receipt of its request, and its place."""

    receipt: str
    partition: int
    offset: int


class Logged(NamedTuple):
    """A message in the log, in order of arrival."""

    sequence: int
    receipt: str
    key: bytes | None
    value: bytes


@dataclass(frozen=True)
class Budget:
    """How much may wait.

    Args:
        queued: bytes in memory, before they are in the log.
        logged: bytes in the log that are not in Kafka yet.
    """

    queued: int = 32 << 20
    logged: int = 2 << 30


@dataclass
class _Write:
    receipt: str
    messages: Sequence[Message]
    size: int
    done: "Future[None]"


class MessageLog:
    """Messages in SQLite, in a write-ahead log that is synchronised with the disk at each commit.

    One thread writes. Requests that arrive during a commit are committed together with the next.

    Args:
        file: the database. It may not exist yet.
        budget: how much may wait.

    Attributes:
        waiting: messages that Kafka does not have yet.
        size: bytes of their values.
        left_by_earlier: last sequence number that an earlier process left; 0 for none.
    """

    def __init__(self, file: Path, budget: Budget | None = None) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._file = file
        self._budget = budget or Budget()
        self._lock = threading.Lock()
        self._writes: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        self._queued = 0
        self._forwarded = 0
        self._delivered: queue.SimpleQueue[Sequence[Delivered]] = queue.SimpleQueue()
        self._arrived = threading.Event()
        self._reader: sqlite3.Connection | None = None
        with closing(_open(file)) as connection:
            connection.executescript(_TABLES)
            counted = (
                "SELECT count(*), coalesce(sum(length(value)), 0), coalesce(max(sequence), 0) FROM messages"
            )
            self.waiting, self.size, self.left_by_earlier = connection.execute(counted).fetchone()
        self._thread = threading.Thread(target=self._run, name="message-log", daemon=True)
        self._thread.start()

    def append(self, receipt: str, messages: Sequence[Message]) -> "Future[None]":
        """Write messages. The result is there once they are on disk.

        Raises:
            OverloadedError: if too much is waiting.
        """
        size = sum(len(message.value) for message in messages)
        with self._lock:
            if self._queued + size > self._budget.queued or self.size + size > self._budget.logged:
                raise OverloadedError
            self._queued += size
        write = _Write(receipt, messages, size, Future())
        self._writes.put(write)
        return write.done

    def pending(self, after: int, most: int) -> list[Logged]:
        """Messages after a sequence number, in order. For the one thread that forwards them."""
        if self._reader is None:
            self._reader = _open(self._file)
        rows = self._reader.execute(
            "SELECT sequence, receipt, key, value FROM messages WHERE sequence > ? ORDER BY sequence LIMIT ?",
            (after, most),
        )
        return [Logged(*row) for row in rows.fetchall()]

    def forget(self, upto: int, delivered: Sequence[Delivered] = ()) -> None:
        """Remove messages that Kafka has, with the next commit: after a crash they are sent again.

        Args:
            upto: the last sequence number that Kafka has.
            delivered: where the messages are now.
        """
        self._delivered.put(delivered)
        self._forwarded = max(self._forwarded, upto)
        self._writes.put(_Write("", (), 0, Future()))

    def wait_for_messages(self, seconds: float) -> None:
        """Wait until messages have been written, or for some seconds."""
        self._arrived.wait(seconds)
        self._arrived.clear()

    def close(self) -> None:
        """Write what is queued and end."""
        self._writes.put(None)
        self._thread.join()

    def _run(self) -> None:
        connection = _open(self._file)
        try:
            while (group := self._next_group()) is not None:
                self._commit(connection, group)
        finally:
            connection.close()

    def _next_group(self) -> list[_Write] | None:
        first = self._writes.get()
        if first is None:
            return None
        group, size = [first], first.size
        while size < _GROUP_BYTES:
            try:
                following = self._writes.get_nowait()
            except queue.Empty:
                break
            if following is None:
                self._writes.put(None)
                break
            group.append(following)
            size += following.size
        return group

    def _commit(self, connection: sqlite3.Connection, group: Sequence[_Write]) -> None:
        awaited = [write for write in group if write.done.set_running_or_notify_cancel()]
        rows = [(write.receipt, message.key, message.value) for write in group for message in write.messages]
        error: UnavailableError | None = None
        forgotten = (0, 0)
        upto = self._forwarded  # read once: the forwarder goes on
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT INTO messages (receipt, key, value) VALUES (?, ?, ?)", rows)
            forgotten = connection.execute(
                "SELECT count(*), coalesce(sum(length(value)), 0) FROM messages WHERE sequence <= ?",
                (upto,),
            ).fetchone()
            connection.execute("DELETE FROM messages WHERE sequence <= ?", (upto,))
            connection.execute(_FORGET_OLD, (_RECEIPT_SECONDS,))
            while not self._delivered.empty():
                places = self._delivered.get_nowait()
                connection.executemany(
                    "INSERT INTO delivered (receipt, partition, offset) VALUES (?, ?, ?)", places
                )
            connection.execute("COMMIT")
        except sqlite3.Error as failed:
            error, forgotten = UnavailableError(str(failed)), (0, 0)
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        size = sum(write.size for write in group)
        with self._lock:
            self._queued -= size
            self.size += (0 if error else size) - forgotten[1]
            self.waiting += (0 if error else len(rows)) - forgotten[0]
        for write in awaited:
            if error:
                write.done.set_exception(error)
            else:
                write.done.set_result(None)
        if rows and not error:
            self._arrived.set()


def _open(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, isolation_level=None, timeout=30)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return connection
