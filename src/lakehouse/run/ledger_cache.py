"""A cache of ledger rows for an application that is the only writer of a home.

It needs neither read the ledger from its table nor poll it for new rows.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from lakehouse.settings import Settings
from lakehouse.timestamps import EPOCH

MOST_ROWS = 10_000
"""Rows of a job that are read at once, and that are kept."""
_STOP_POLL_SECONDS = 0.2


class LedgerRow(Protocol):
    """A row of ops.ledger. `lakehouse.run.ledger`, which declares the whole row, imports this module."""

    @property
    def job(self) -> str:
        """The job that ran the micro-batch."""

    @property
    def batch_id(self) -> int:
        """Number of the job's micro-batch: counts up from 0."""

    @property
    def position(self) -> datetime:
        """Ingest stamp that the job has processed through."""


R = TypeVar("R", bound=LedgerRow)
ReadLast = Callable[[str], R | None]


class LedgerCache(Generic[R]):
    """The latest rows of each job, and a condition that is notified of new ones."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._rows: dict[str, deque[R]] = {}
        self._known_from: dict[str, datetime] = {}
        self._sequence = 0

    def last(self, job: str, read: ReadLast[R]) -> R | None:
        """The job's latest row. `read` fetches it from the table the first time."""
        with self._changed:
            rows = self._of(job, read)
            return rows[-1] if rows else None

    def after(self, job: str, position: datetime, read: ReadLast[R]) -> list[R] | None:
        """The job's rows after a position, in order; None if some of them are not in the cache."""
        with self._changed:
            rows = self._of(job, read)
            if position < self._known_from[job]:
                return None
            return [row for row in rows if row.position > position]

    def add(self, row: R) -> None:
        """Add a row that a job has written."""
        with self._changed:
            rows = self._rows.get(row.job)
            if rows is not None and (not rows or row.batch_id > rows[-1].batch_id):
                if len(rows) == MOST_ROWS:
                    self._known_from[row.job] = rows[0].position
                rows.append(row)
            self._sequence += 1
            self._changed.notify_all()

    @property
    def sequence(self) -> int:
        """Number of rows added so far."""
        return self._sequence

    def wait(self, sequence: int, seconds: float, stop: threading.Event) -> None:
        """Wait until a row is added after the given sequence, `stop` is set, or the time is over."""
        until = time.monotonic() + seconds
        with self._changed:
            while sequence == self._sequence and not stop.is_set() and (left := until - time.monotonic()) > 0:
                self._changed.wait(min(left, _STOP_POLL_SECONDS))

    def _of(self, job: str, read: ReadLast[R]) -> deque[R]:
        if job not in self._rows:
            last = read(job)
            self._rows[job] = deque([last] if last else [], maxlen=MOST_ROWS)
            self._known_from[job] = last.position if last else EPOCH
        return self._rows[job]


_CACHES: dict[Path, LedgerCache[Any]] = {}


@contextmanager
def exclusive_ledger(settings: Settings) -> Iterator[None]:
    """Cache the ledger of a home, which only this application writes while the context lasts."""
    _CACHES[settings.warehouse] = LedgerCache()
    try:
        yield
    finally:
        del _CACHES[settings.warehouse]


def ledger_cache_of(settings: Settings) -> LedgerCache[Any] | None:
    """The cache of a home's ledger; None if other applications may write it."""
    return _CACHES.get(settings.warehouse)
