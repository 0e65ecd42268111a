"""What a collector has taken and where it is, by source, and the return of shed events."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from intake.log.schema import open_log, reading

_AT_ONCE = 1000
"""Shed events that one transaction returns."""


@dataclass(frozen=True)
class Account:
    """Numbers of events of a source, at one moment.

    Args:
        source: its name.
        received: acknowledged.
        forwarded: Kafka has them.
        waiting: in the log.
        shed: set aside in the log.
        lost: of a source with at most once, what Kafka did not take.
        refused: answered with 429; the client has them.
        replayed: were set aside and returned to the log.
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
        """Acknowledged events that are nowhere."""
        return self.received - self.forwarded - self.waiting - self.shed - self.lost


def read_accounts(file: Path) -> list[Account]:
    """Read a log, also while a collector runs."""
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
    """The same by the counts alone, however much waits: what is missing counts as waiting."""
    query = """
        SELECT source, received, forwarded, received - forwarded - lost - (shed - replayed), shed - replayed,
            lost, refused, replayed
        FROM counts ORDER BY source
    """
    with reading(file) as connection:
        return [Account(*row) for row in connection.execute(query)]


def replay_shed(file: Path, source: str | None = None) -> int:
    """Return shed events to the log, which forwards them. Also while a collector runs.

    Args:
        file: the log.
        source: whose events; None for all.

    Returns:
        How many.
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
