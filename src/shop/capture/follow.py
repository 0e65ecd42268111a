"""Capture of one database: a snapshot, then the log, until it is stopped."""

import threading
import time
from dataclasses import dataclass, field

import psycopg

from lakehouse.errors import MillraceError
from shop.capture.change_topic import ChangeTopic, Position
from shop.capture.database import Database, Slot, rows_in_snapshot
from shop.capture.pgoutput import Begin, Commit
from shop.capture.replication import CreatedSlot, KeepAlive, Replication, replication_of
from shop.capture.row_changes import RowChanges

_QUIET_SECONDS = 0.05
_BATCH_SECONDS = 0.5
_BATCH_RECORDS = 20_000
_KEEP_SECONDS = 10.0
"""Pause between commits of a position without changes."""
_RENEW_SECONDS = 3600.0
"""Pause between commits of the same position: Kafka removes one that is seven days old."""


@dataclass
class Capture:
    """Captures the changes of a database.

    Args:
        database: the database.
        topic: where changes go.
        snapshot: whether to take a snapshot also if one is in Kafka.
        stop: set to end it.
    """

    database: Database
    topic: ChangeTopic
    snapshot: bool = False
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Send a snapshot if there is none yet, then the log, until `stop` is set.

        Raises:
            MillraceError: if PostgreSQL or Kafka does not answer, or changes were lost.
        """
        with replication_of(self.database) as replication:
            system, log_end = replication.system()
            with self.database.connect() as connection:
                self.database.prepare(connection)
                position = self._position(connection, replication, system, log_end)
            replication.start(position.lsn)
            self._follow(replication, position)

    def _position(
        self, connection: psycopg.Connection, replication: Replication, system: str, log_end: int
    ) -> Position:
        """Where to read the log from: the stored position, or that of a new snapshot.

        Args:
            connection: to the database.
            replication: to the same.
            system: id of the server.
            log_end: where its log ends.
        """
        tables = tuple(sorted(self.database.source.tables))
        self.database.free_slot(connection)
        known, slot = self.topic.position(), self.database.slot(connection)
        latest = self.topic.latest_lsn_of(self.database.name) if known is None else None
        lost = self._lost(known, slot, system, log_end, latest)
        if not self.snapshot:
            if lost:
                raise MillraceError(
                    lost, f"{self._again}, which goes on from a new snapshot; only versions between are lost"
                )
            if known:
                if added := sorted(set(tables) - set(known.tables)):
                    raise MillraceError(f"there is no snapshot of {', '.join(added)} yet", self._again)
                return known
        goes_on = known if known and not lost else None
        if slot and not goes_on:  # of a snapshot that was interrupted, or of no use any more
            self.database.drop_slot(connection)
        created = replication.create_slot(temporary=goes_on is not None)
        if goes_on:
            position = goes_on._replace(tables=tables)
        else:
            position = Position(created.lsn, system, tables, _base(created, known, latest))
        self._send_snapshot(created, position)
        return position

    def _lost(
        self, known: Position | None, slot: Slot | None, system: str, log_end: int, latest: int | None
    ) -> str:
        """Why changes since the stored position may be lost; empty if they are not."""
        name = self.database.name
        if known is None:
            return (
                f"Kafka has no position of the capture of {name} any more: it is older than Kafka's "
                "offsets.retention.minutes"
                if latest is not None
                else ""
            )
        if known.system != system:
            return f"PostgreSQL of {name} is another server than the one captured before"
        if slot is None or slot.is_lost:
            return f"the replication slot {self.database.slot_name} is gone: changes may be lost"
        if log_end < known.lsn:
            return f"PostgreSQL of {name} was restored to a time before the last change that was captured"
        if slot.confirmed > known.lsn:
            return f"Kafka has lost the last changes of {name} that it had confirmed"
        return ""

    @property
    def _again(self) -> str:
        return f"Run `millrace capture {self.database.name} --snapshot`"

    def _send_snapshot(self, slot: CreatedSlot, position: Position) -> None:
        """Send all rows in one transaction of Kafka: after a crash, none of them is there."""
        changes = RowChanges(self.database.name, self.database.source, position.base)
        lsn = slot.lsn - 1  # a commit may begin at the slot's position, and none one byte before
        with self.database.connect() as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            connection.execute(f"SET TRANSACTION SNAPSHOT '{slot.snapshot}'".encode())
            [at] = connection.execute("SELECT (extract(epoch FROM now()) * 1000000)::bigint").fetchone() or (
                0,
            )
            for table in position.tables:
                columns = self.database.columns_of(connection, table)
                self.topic.send([changes.snapshot(table, lsn, at)])
                for values in rows_in_snapshot(connection, table, columns):
                    self.topic.send([changes.snapshot_row(table, columns, values)])
                    if self.stop.is_set():
                        raise MillraceError("the snapshot was stopped", "It begins again at the next start")
        self.topic.commit(position)

    def _follow(self, replication: Replication, position: Position) -> None:
        changes = RowChanges(self.database.name, self.database.source, position.base)
        batch = _Batch(position.lsn)
        for message in replication.messages(_QUIET_SECONDS):
            if isinstance(message, Begin | Commit | KeepAlive):
                batch.note(message)
            if message is not None and not isinstance(message, KeepAlive):
                self.topic.send(changes.records(message))
            if batch.is_due(self.topic.waiting, is_quiet=message is None):
                position = position._replace(lsn=batch.lsn)
                self.topic.commit(position)
                replication.confirm(position.lsn)
                batch = _Batch(position.lsn)
            if self.stop.is_set() and not batch.is_open and not self.topic.waiting:
                return


def _base(created: CreatedSlot, known: Position | None, latest: int | None) -> int:
    """What to add to positions of the log, so that a new snapshot is after all changes that were sent.

    Args:
        created: the slot of the snapshot.
        known: the stored position; None without one.
        latest: the largest `lsn` that was sent, where there is no position.
    """
    base = known.base if known else 0
    sent = known.base + known.lsn if known else latest or 0
    return max(base, sent + 2 - created.lsn)


class _Batch:
    """What is read since the last commit.

    Args:
        lsn: position of the last commit; afterwards, the position that the batch reaches.
    """

    def __init__(self, lsn: int) -> None:
        self.lsn = lsn
        self.is_open = False
        self._began = time.monotonic()
        self._first = lsn

    def note(self, message: Begin | Commit | KeepAlive) -> None:
        """Note the begin or end of a transaction, or the server's position."""
        if isinstance(message, Begin):
            self.is_open = True
        elif isinstance(message, Commit):
            self.is_open, self.lsn = False, message.end_lsn
        elif not self.is_open:
            self.lsn = max(self.lsn, message.lsn)

    def is_due(self, records: int, is_quiet: bool) -> bool:
        """Whether to commit now: never inside a transaction."""
        age = time.monotonic() - self._began
        if self.is_open or (self.lsn == self._first and age < _RENEW_SECONDS):
            return False
        if not records:
            return age > _KEEP_SECONDS
        return is_quiet or records >= _BATCH_RECORDS or age > _BATCH_SECONDS
