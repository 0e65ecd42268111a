"""Queues requests for the log, and commits queued requests together (group commit)."""

import queue
import sqlite3
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from intake.admission import Load
from intake.log.accounts import Account, read_counts
from intake.log.entries import Delivered, Logged, Tally, Totals, Write
from intake.log.pending import PendingReader
from intake.log.schema import create_log
from intake.log.writer import LogWriter

_GROUP_BYTES = 4 << 20
"""Maximum bytes of messages in one commit of several queued requests."""
_IDLE_SECONDS = 1.0
"""After so many seconds without a request, writes counts and checks for changes by other processes."""


Item = TypeVar("Item")


class OverloadedError(Exception):
    """The log or its queue is full: try again later."""


class UnavailableError(Exception):
    """The log cannot be written, or Kafka does not answer."""


@dataclass(frozen=True)
class Budget:
    """Maximum bytes of waiting messages.

    Args:
        queued: bytes in memory that are not in the log yet.
        logged: bytes in the log that Kafka does not have yet.
        shed: bytes set aside in the log.
    """

    queued: int = 32 << 20
    logged: int = 2 << 30
    shed: int = 2 << 30


@dataclass
class _Queued:
    write: Write = field(default_factory=Write)
    done: "Future[None]" = field(default_factory=Future)

    @property
    def size(self) -> int:
        return self.write.size


class MessageLog:
    """Messages in SQLite, in a write-ahead log that is synchronised with the disk at each commit.

    One thread writes. Requests that arrive during a commit are committed together with the next.

    Args:
        file: the database; created if it does not exist.
        budget: maximum bytes of waiting messages.

    Attributes:
        totals: numbers and bytes of the messages in the log.
        left_by_earlier: last sequence number that an earlier process left; 0 for none.
        held_leases: sources whose promises an earlier process had not ended.
        positions: resume position of each stream on disk, by source.
    """

    def __init__(self, file: Path, budget: Budget | None = None) -> None:
        self._file = file
        self._budget = budget or Budget()
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[_Queued | None] = queue.SimpleQueue()
        self._queued = 0
        self._forwarded = 0
        self._delivered: queue.SimpleQueue[Sequence[Delivered]] = queue.SimpleQueue()
        self._too_large: queue.SimpleQueue[Sequence[int]] = queue.SimpleQueue()
        self._tallies: dict[str, Tally] = {}
        self._arrived = threading.Event()
        self._reader = PendingReader(file)
        create_log(file)
        self._writer = LogWriter(file)
        self.totals = self._writer.totals()
        self.left_by_earlier = self.totals.last if self.totals.waiting else 0
        self.held_leases = self._writer.leases()
        self.positions = self._writer.positions()
        self._thread = threading.Thread(target=self._run, name="message-log", daemon=True)
        self._thread.start()

    @property
    def load(self) -> Load:
        """The used share of each budget."""
        budget, totals = self._budget, self.totals
        return Load(self._queued / budget.queued, totals.size / budget.logged, totals.shed_size / budget.shed)

    def append(self, write: Write) -> "Future[None]":
        """Write messages. The future ends once they are on disk.

        Raises:
            OverloadedError: if too much is waiting.
        """
        size = write.size
        with self._lock:
            budget = self._budget.shed if write.is_shed else self._budget.logged
            used = self.totals.shed_size if write.is_shed else self.totals.size
            if self._queued + size > self._budget.queued or used + size > budget:
                raise OverloadedError
            self._queued += size
        queued = _Queued(write)
        self._queue.put(queued)
        return queued.done

    def count(self, source: str, tally: Tally) -> None:
        """Add to the counts of a source, with the next commit."""
        with self._lock:
            known = self._tallies.setdefault(source, Tally())
            for name, number in vars(tally).items():
                setattr(known, name, getattr(known, name) + number)

    def pending(self, after: int, most: int) -> list[Logged]:
        """Messages after a sequence number, in order, up to about 4 MiB. Only for the forwarder's thread.

        Raises:
            sqlite3.Error: if the log can't be read.
        """
        return self._reader.read(after, most)

    def counts(self) -> list[Account]:
        """The account of each source, from the table of counts."""
        return read_counts(self._file)

    def forget(self, upto: int, delivered: Sequence[Delivered] = (), too_large: Sequence[int] = ()) -> None:
        """Remove messages that Kafka has, with the next commit; a crash before it sends them again.

        Args:
            upto: the last sequence number that Kafka has.
            delivered: their partitions and offsets in Kafka.
            too_large: sequence numbers up to there that Kafka does not take; these messages are shed.
        """
        self.note_delivered(delivered)
        self._too_large.put(too_large)
        self._forwarded = max(self._forwarded, upto)
        self._queue.put(_Queued())

    def note_delivered(self, delivered: Sequence[Delivered]) -> None:
        """Store partitions and offsets of messages in Kafka, with the next commit."""
        self._delivered.put(delivered)

    def wait_for_messages(self, seconds: float) -> None:
        """Wait until messages have been written, or for some seconds."""
        self._arrived.wait(seconds)
        self._arrived.clear()

    def close(self) -> None:
        """Write queued requests, then close the database."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            while (group := self._next_group()) is not None:
                self._commit(group)
            self._commit([])
        finally:
            self._writer.close()

    def _next_group(self) -> list[_Queued] | None:
        """Requests to commit together; empty after a second without requests, None at the end."""
        try:
            first = self._queue.get(timeout=_IDLE_SECONDS)
        except queue.Empty:
            return []
        if first is None:
            return None
        group, size = [first], first.size
        while size < _GROUP_BYTES:
            try:
                following = self._queue.get_nowait()
            except queue.Empty:
                break
            if following is None:
                self._queue.put(None)
                break
            group.append(following)
            size += following.size
        return group

    def _commit(self, group: Sequence[_Queued]) -> None:
        awaited = [each for each in group if each.done.set_running_or_notify_cancel()]
        upto = self._forwarded  # read once: the forwarder changes it
        with self._lock:
            tallies, self._tallies = self._tallies, {}
        delivered, too_large = _drained(self._delivered), _drained(self._too_large)
        error: UnavailableError | None = None
        removed = (0, 0)
        if group or tallies or delivered:
            try:
                writes = [each.write for each in group]
                removed = self._writer.commit(writes, upto, delivered, tallies, too_large)
            except sqlite3.Error as failed:
                error = UnavailableError(str(failed))
                self._delivered.put(delivered)
                self._too_large.put(too_large)
                for source, tally in tallies.items():
                    self.count(source, tally)
        self._update_totals([] if error else group, sum(each.size for each in group), removed)
        for each in [] if error else group:
            if each.write.position is not None:
                self.positions[each.write.source] = each.write.position
        for each in awaited:
            if error:
                each.done.set_exception(error)
            else:
                each.done.set_result(None)
        if any(each.write.messages or each.write.promise for each in group) and not error:
            self._arrived.set()

    def _update_totals(self, written: Sequence[_Queued], size: int, removed: tuple[int, int]) -> None:
        recounted: Totals | None = None
        with suppress(sqlite3.Error):  # then after a later commit: the log can't be read now
            recounted = self._writer.changed_totals()
        with self._lock:
            self._queued -= size
            self.totals = recounted or self.totals.after([each.write for each in written], removed)


def _drained(items: "queue.SimpleQueue[Sequence[Item]]") -> list[Item]:
    found: list[Item] = []
    while not items.empty():
        found += items.get_nowait()
    return found
