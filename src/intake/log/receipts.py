"""Receipts of the collector's requests, read from its log."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from intake.log.entries import Delivered
from intake.log.schema import reading
from lakehouse.timestamps import from_micros


@dataclass(frozen=True)
class Receipt:
    """Where the events of a request are.

    Args:
        waiting: events in the log that Kafka does not have yet.
        shed: events set aside in the log.
        delivered: places in Kafka of the others; an event that was sent twice after a crash has two.
        logged_at: when the request was in the log; None if it is not known.
    """

    waiting: int = 0
    shed: int = 0
    delivered: tuple[Delivered, ...] = ()
    logged_at: datetime | None = None

    @property
    def is_known(self) -> bool:
        """Whether the log knows any event of it."""
        return bool(self.waiting or self.shed or self.delivered)


def read_receipt(file: Path, receipt: str) -> Receipt:
    """Look up a receipt, also while a collector runs. Empty if it is not known, or older than a week."""
    if not file.is_file():
        return Receipt()
    with reading(file) as connection:
        counted = "SELECT count(value), min(logged_at) FROM {} WHERE receipt = ?"
        waiting, *first = connection.execute(counted.format("messages"), (receipt,)).fetchone()
        shed, *second = connection.execute(counted.format("shed"), (receipt,)).fetchone()
        places = connection.execute(
            "SELECT receipt, source, partition, offset, logged_at FROM delivered"
            " WHERE receipt = ? ORDER BY rowid",
            (receipt,),
        )
        delivered = tuple(Delivered(*place) for place in places)
    times = [at for at in (*first, *second, *(each.logged_at for each in delivered)) if at]
    return Receipt(waiting, shed, delivered, from_micros(min(times)) if times else None)
