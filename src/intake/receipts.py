"""Receipts of the collector's requests, read from its log."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from intake.message_log import Delivered


@dataclass(frozen=True)
class Receipt:
    """Where the events of a request are.

    Args:
        waiting: events in the log that Kafka does not have yet.
        delivered: places in Kafka of the others; an event that was sent twice after a crash has two.
    """

    waiting: int
    delivered: tuple[Delivered, ...]


def read_receipt(file: Path, receipt: str) -> Receipt:
    """Look up a receipt, also while a collector runs. Empty if it is not known, or older than a week."""
    if not file.is_file():
        return Receipt(0, ())
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=30)) as connection:
        counted = connection.execute("SELECT count(*) FROM messages WHERE receipt = ?", (receipt,))
        waiting = counted.fetchone()[0]
        places = connection.execute(
            "SELECT receipt, partition, offset FROM delivered WHERE receipt = ? ORDER BY rowid", (receipt,)
        )
        return Receipt(waiting, tuple(Delivered(*place) for place in places))
