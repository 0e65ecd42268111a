"""Counts of a collector's events by source and state, and the replay of shed events."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from intake.log.schema import open_log, reading

_AT_ONCE = 1000
"""Shed events that one transaction replays."""


@dataclass(frozen=True)
class Account:
    """Numbers of events of a source, at one moment.

    Args:
        source: name of the source.
        received: acknowledged events.
        forwarded: events that Kafka has.
        waiting: events in the log that Kafka does not have yet.
        shed: events set aside in the log.
        lost: events of a source with at-most-once delivery that Kafka did not take.
        refused: events answered with 429; the client still has them.
        replayed: shed events that were returned to the log.
    """

    source: str
    received: int
    forwarded: int
    waiting: int
    shed: int
    lost: int
    refused: int
    replayed: int

    @property
    def missing(self) -> int:
        """Acknowledged events that are neither in Kafka, waiting, shed nor lost."""
        return self.received - self.forwarded - self.waiting - self.shed - self.lost


def read_accounts(file: Path) -> list[Account]:
    """Read the accounts of a log from its messages. A collector may be running."""
    query = """
        SELECT source, received, forwarded,
            (SELECT count(value) FROM messages WHERE messages.source = counts.source),
            (SELECT count(*) FROM shed WHERE shed.source = counts.source),
            lost, refused, replayed
        FROM counts ORDER BY source
    """
    with reading(file) as connection:
        return [Account(*row) for row in connection.execute(query)]


def read_counts(file: Path) -> list[Account]:
    """Read the accounts from the table of counts only, in constant time: missing events count as waiting."""
    query = """
        SELECT source, received, forwarded, received - forwarded - lost - (shed - replayed), shed - replayed,
            lost, refused, replayed
        FROM counts ORDER BY source
    """
    with reading(file) as connection:
        return [Account(*row) for row in connection.execute(query)]


def replay_shed(file: Path, source: str | None = None) -> int:
    """Return shed events to the log, which forwards them. A collector may be running.

    Args:
        file: the log.
        source: name of the source; None for all.

    Returns:
        The number of events.
    """
    total = 0
    with closing(open_log(file)) as connection:
        while True:
            connection.execute("BEGIN IMMEDIATE")
            rows = connection.execute(
                "SELECT sequence, source FROM shed WHERE ?1 IS NULL OR source = ?1"
                " ORDER BY sequence LIMIT ?2",
                (source, _AT_ONCE),
            ).fetchall()
            for sequence, of_source in rows:
                connection.execute(
                    "INSERT INTO messages (receipt, source, logged_at, key, value)"
                    " SELECT receipt, source, logged_at, key, value FROM shed WHERE sequence = ?",
                    (sequence,),
                )
                connection.execute("DELETE FROM shed WHERE sequence = ?", (sequence,))
                connection.execute("UPDATE counts SET replayed = replayed + 1 WHERE source = ?", (of_source,))
            connection.execute("COMMIT")
            total += len(rows)
            if not rows:
                return total
