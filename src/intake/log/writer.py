"""Writes the collector's log, one transaction at a time."""

import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from intake.log.entries import Delivered, Tally, Totals, Write
from intake.log.schema import open_log

_RECEIPT_SECONDS = 7 * 24 * 3600
"""Seconds for which the Kafka offsets of a receipt are kept."""
_MOST_OFFSETS = 16_000_000
"""Offsets that are kept at most, however young: about 2 GiB."""
_EXPIRED_AT_ONCE = 1000
"""Expired offsets that a commit deletes, beyond as many as it adds: after downtime there may be millions."""


class LogWriter:
    """The collector's only writing connection; other processes may write too.

    Args:
        file: the database, with its tables.
        most_offsets: Kafka offsets of receipts that are kept at most.
    """

    def __init__(self, file: Path, most_offsets: int = _MOST_OFFSETS) -> None:
        self._connection = open_log(file)
        self._most_offsets = most_offsets
        self._seen: int | None = self._version()  # None: the totals have to be counted

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def changed_totals(self) -> Totals | None:
        """Count the messages if they changed otherwise than by writes and removals; else None."""
        version = self._version()
        if version == self._seen:
            return None
        totals = self.totals()
        self._seen = version
        return totals

    def totals(self) -> Totals:
        """Count the messages in the log."""
        counted = "SELECT count(*), coalesce(sum(length(value)), 0), coalesce(max(sequence), 0) FROM "
        waiting, size, last = self._connection.execute(counted + "messages").fetchone()
        shed, shed_size, _ = self._connection.execute(counted + "shed").fetchone()
        return Totals(waiting, size, shed, shed_size, last)

    def leases(self) -> list[str]:
        """Sources with a promise that has not ended."""
        return [row[0] for row in self._connection.execute("SELECT source FROM leases ORDER BY source")]

    def positions(self) -> dict[str, str]:
        """Resume position of each stream, by source."""
        return dict(self._connection.execute("SELECT source, position FROM positions").fetchall())

    def commit(
        self,
        writes: Iterable[Write],
        upto: int,
        delivered: Sequence[Delivered],
        tallies: Mapping[str, Tally],
        too_large: Iterable[int] = (),
    ) -> tuple[int, int]:
        """Write requests and remove messages that Kafka has, in one transaction.

        Args:
            writes: the requests.
            upto: last sequence number that Kafka has.
            delivered: Kafka offsets of newly delivered messages.
            tallies: counts to add, by source.
            too_large: sequence numbers of messages that Kafka does not take; they are shed.

        Returns:
            Number of messages removed, and bytes of their values.

        Raises:
            sqlite3.Error: if the disk is full or broken; the transaction is rolled back.
        """
        now = time.time_ns() // 1000
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            self._insert(writes, now)
            self._shed(too_large)
            removed = self._remove(upto)
            connection.executemany(
                "INSERT INTO delivered VALUES (?, ?, ?, ?, ?, ?)", [(*each, now) for each in delivered]
            )
            self._expire(now - _RECEIPT_SECONDS * 1_000_000, len(delivered) + _EXPIRED_AT_ONCE)
            for source, tally in tallies.items():
                self._count(source, vars(tally))
            connection.execute("COMMIT")
        except sqlite3.Error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return removed

    def _insert(self, writes: Iterable[Write], now: int) -> None:
        received: dict[str, int] = {}
        shed: dict[str, int] = {}
        for write in writes:
            rows: list[tuple[object, ...]] = [
                (write.receipt, write.source, now, message.key, message.value, None)
                for message in write.messages
            ]
            if write.is_shed:
                self._connection.executemany(
                    "INSERT INTO shed (receipt, source, logged_at, key, value) VALUES (?, ?, ?, ?, ?)",
                    [row[:-1] for row in rows],
                )
                shed[write.source] = shed.get(write.source, 0) + len(rows)
            else:
                rows += self._promise(write, now)
                self._connection.executemany(
                    "INSERT INTO messages (receipt, source, logged_at, key, value, promise)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    rows,
                )
            if write.position is not None:
                self._connection.execute(
                    "INSERT OR REPLACE INTO positions VALUES (?, ?)", (write.source, write.position)
                )
            if write.messages:
                received[write.source] = received.get(write.source, 0) + len(write.messages)
        for source, number in received.items():
            self._count(source, {"received": number, "shed": shed.get(source, 0)})

    def _promise(self, write: Write, now: int) -> list[tuple[object, ...]]:
        if write.promise is None:
            return []
        held = write.promise != "end"
        statement = (
            "INSERT OR IGNORE INTO leases VALUES (?)" if held else "DELETE FROM leases WHERE source = ?"
        )
        self._connection.execute(statement, (write.source,))
        return [(write.receipt, write.source, now, None, None, write.promise)]

    def _remove(self, upto: int) -> tuple[int, int]:
        by_source = self._connection.execute(
            "SELECT source, count(*), coalesce(sum(length(value)), 0), count(value) FROM messages"
            " WHERE sequence <= ? GROUP BY source",
            (upto,),
        ).fetchall()
        if not by_source:
            return 0, 0
        self._connection.execute("DELETE FROM messages WHERE sequence <= ?", (upto,))
        for source, _, _, events in by_source:
            self._count(source, {"forwarded": events})
        return sum(row[1] for row in by_source), sum(row[2] for row in by_source)

    def _shed(self, sequences: Iterable[int]) -> None:
        for sequence in sequences:
            self._connection.execute(
                "INSERT INTO shed (receipt, source, logged_at, key, value)"
                " SELECT receipt, source, logged_at, key, value FROM messages WHERE sequence = ?",
                (sequence,),
            )
            statement = "DELETE FROM messages WHERE sequence = ? RETURNING source"
            for (source,) in self._connection.execute(statement, (sequence,)).fetchall():
                self._count(source, {"shed": 1})
            self._seen = None

    def _expire(self, before: int, most: int) -> None:
        self._connection.execute(
            "DELETE FROM delivered WHERE rowid IN"
            " (SELECT rowid FROM delivered WHERE at < ? ORDER BY at LIMIT ?)",
            (before, most),
        )
        self._connection.execute(
            "DELETE FROM delivered WHERE rowid IN (SELECT rowid FROM delivered"
            " WHERE rowid <= (SELECT max(rowid) FROM delivered) - ? ORDER BY rowid LIMIT ?)",
            (self._most_offsets, most),
        )

    def _count(self, source: str, added: Mapping[str, int]) -> None:
        self._connection.execute("INSERT OR IGNORE INTO counts (source) VALUES (?)", (source,))
        changes = {name: number for name, number in added.items() if number}
        if changes:
            terms = ", ".join(f"{name} = {name} + ?" for name in changes)
            self._connection.execute(
                f"UPDATE counts SET {terms} WHERE source = ?",
                (*changes.values(), source),
            )

    def _version(self) -> int:
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])
