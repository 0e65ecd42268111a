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
        delivered: Kafka offsets of the other events; an event sent again after a crash has two.
        logged_at: time at which the request was logged; None if unknown.
    """

    waiting: int = 0
    shed: int = 0
    delivered: tuple[Delivered, ...] = ()
    logged_at: datetime | None = None

    @property
    def is_known(self) -> bool:
        """Whether the log has any event of the request."""
        return bool(self.waiting or self.shed or self.delivered)


def read_receipt(file: Path, receipt: str) -> Receipt:
    """Look up a receipt; a collector may be running. Empty if it is unknown or older than a week."""
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
