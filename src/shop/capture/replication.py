"""PostgreSQL's replication protocol: create a slot, read the log, confirm positions."""

import select
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import psycopg
from psycopg import pq

from lakehouse.errors import MillraceError
from shop.capture.database import Database
from shop.capture.pgoutput import EPOCH_MICROS, Message, decode

_DATA, _KEEPALIVE = b"w", b"k"


class CreatedSlot(NamedTuple):
    """A new slot: the position that it begins at, and the snapshot of the data at this position."""

    lsn: int
    snapshot: str


class KeepAlive(NamedTuple):
    """The server's position, while it sends no changes."""

    lsn: int


class Replication:
    """A replication connection; see `replication_of`."""

    def __init__(self, database: Database, connection: pq.abc.PGconn) -> None:
        self._database = database
        self._connection = connection
        self._confirmed = 0

    def system(self) -> tuple[str, int]:
        """The id of the server, and where its log ends."""
        found = self._connection.exec_(b"IDENTIFY_SYSTEM")
        if found.status != pq.ExecStatus.TUPLES_OK:
            raise self._error("does not say which server it is")
        return (found.get_value(0, 0) or b"").decode(), parse_lsn((found.get_value(0, 2) or b"0/0").decode())

    def create_slot(self, temporary: bool = False) -> CreatedSlot:
        """Create the slot and export a snapshot, which lasts until the next command on this connection.

        Args:
            temporary: create another slot, for its snapshot only; it ends with the connection.

        Raises:
            MillraceError: if the server refuses.
        """
        name = f"{self._database.slot_name}_snapshot" if temporary else self._database.slot_name
        kind = "TEMPORARY LOGICAL" if temporary else "LOGICAL"
        found = self._connection.exec_(
            f'CREATE_REPLICATION_SLOT "{name}" {kind} pgoutput EXPORT_SNAPSHOT'.encode()
        )
        if found.status != pq.ExecStatus.TUPLES_OK:
            raise self._error("can't create a replication slot")
        return CreatedSlot(
            parse_lsn((found.get_value(0, 1) or b"").decode()), (found.get_value(0, 2) or b"").decode()
        )

    def start(self, lsn: int) -> None:
        """Begin to read the log: transactions that committed at or after a position.

        Raises:
            MillraceError: if the server refuses.
        """
        name = self._database.slot_name
        command = (
            f'START_REPLICATION SLOT "{name}" LOGICAL {format_lsn(lsn)} '
            f"(proto_version '1', publication_names '{name}')"
        )
        found = self._connection.exec_(command.encode())
        if found.status != pq.ExecStatus.COPY_BOTH:
            raise self._error("can't read the log")
        self._confirmed = lsn

    def messages(self, seconds: float) -> Iterator[Message | KeepAlive | None]:
        """Messages of the log, in order; None whenever none has come for so many seconds.

        Raises:
            MillraceError: if the connection ends.
        """
        while True:
            length, data = self._connection.get_copy_data(1)
            if length > 0:
                yield from self._decoded(bytes(data))
            elif length < 0:
                raise self._error("has ended the connection")
            elif select.select([self._connection.socket], [], [], seconds)[0]:
                self._consume()
            else:
                yield None

    def confirm(self, lsn: int) -> None:
        """Confirm that all transactions before a position are in Kafka: the server may forget them."""
        self._confirmed = max(self._confirmed, lsn)
        position = self._confirmed
        reply = struct.pack(">cqqqqb", b"r", position, position, position, -EPOCH_MICROS, 0)
        self._connection.put_copy_data(reply)
        self._connection.flush()

    def _decoded(self, data: bytes) -> Iterator[Message | KeepAlive]:
        if data[:1] == _DATA:
            message = decode(data[25:])
            if message is not None:
                yield message
        elif data[:1] == _KEEPALIVE:
            lsn, _, wants_reply = struct.unpack(">qqb", data[1:18])
            if wants_reply:
                self.confirm(self._confirmed)
            yield KeepAlive(lsn)

    def _consume(self) -> None:
        try:
            self._connection.consume_input()
        except psycopg.OperationalError as error:
            raise self._error("has ended the connection") from error

    def _error(self, what: str) -> MillraceError:
        said = " ".join(self._connection.error_message.decode(errors="replace").split())
        if "all replication slots are in use" in said:
            return MillraceError(f"{self._of} has no free replication slot", "Raise max_replication_slots")
        if "permission denied" in said or "must be superuser" in said:
            return MillraceError(
                f"{self._of} refuses replication: {said[:200]}",
                f"Run ALTER ROLE … REPLICATION for the user of {self._database.source.connection}",
            )
        return MillraceError(f"{self._of} {what}: {said[:200]}", "Capture starts again where it stopped")

    @property
    def _of(self) -> str:
        return f"PostgreSQL of {self._database.name}"


@contextmanager
def replication_of(database: Database) -> Iterator[Replication]:
    """A replication connection to a database.

    Raises:
        MillraceError: if the server does not answer, or refuses.
    """
    with database.connect(replication="database") as connection:
        yield Replication(database, connection.pgconn)


def parse_lsn(text: str) -> int:
    """A position in the write-ahead log as a number."""
    high, low = text.split("/")
    return (int(high, 16) << 32) + int(low, 16)


def format_lsn(lsn: int) -> str:
    """A position in PostgreSQL's notation."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
