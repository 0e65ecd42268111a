"""What is known without reading: the rows of the ledger that this application has written itself.

An application that alone writes a home's tables need not ask the table what its own jobs have done, nor look
every few seconds whether there is something new.
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

_MOST = 10_000  # rows of a job that are kept
_GLANCE = 0.2  # seconds between two looks whether to stop


class Recorded(Protocol):
    """A row of the ledger."""

    @property
    def job(self) -> str: ...  # noqa: D102 - see `lakehouse.run.ledger.Entry`
    @property
    def batch_id(self) -> int: ...  # noqa: D102
    @property
    def position(self) -> datetime: ...  # noqa: D102


R = TypeVar("R", bound=Recorded)
ReadLast = Callable[[str], R | None]


class Recall(Generic[R]):
    """The latest rows of each job, and word of new ones."""

    def __init__(self) -> None:
        self._news = threading.Condition()
        self._rows: dict[str, deque[R]] = {}
        self._known_from: dict[str, datetime] = {}
        self._told = 0

    def last(self, job: str, read: ReadLast[R]) -> R | None:
        """The job's latest row; `read` gets it where nothing is known of the job yet."""
        with self._news:
            rows = self._of(job, read)
            return rows[-1] if rows else None

    def after(self, job: str, position: datetime, read: ReadLast[R]) -> list[R] | None:
        """The job's rows after a position, in order; None if they reach further back than what is known."""
        with self._news:
            rows = self._of(job, read)
            if position < self._known_from[job]:
                return None
            return [row for row in rows if row.position > position]

    def add(self, row: R) -> None:
        """A job has recorded a row."""
        with self._news:
            rows = self._rows.get(row.job)
            if rows is not None and (not rows or row.batch_id > rows[-1].batch_id):
                if len(rows) == _MOST:
                    self._known_from[row.job] = rows[0].position
                rows.append(row)
            self._told += 1
            self._news.notify_all()

    @property
    def told(self) -> int:
        """How many rows have been recorded."""
        return self._told

    def wait(self, told: int, seconds: float, stop: threading.Event) -> None:
        """Until more rows than those are recorded, or it is time to stop; so long at most."""
        until = time.monotonic() + seconds
        with self._news:
            while told == self._told and not stop.is_set() and (left := until - time.monotonic()) > 0:
                self._news.wait(min(left, _GLANCE))

    def _of(self, job: str, read: ReadLast[R]) -> deque[R]:
        if job not in self._rows:
            last = read(job)
            self._rows[job] = deque([last] if last else [], maxlen=_MOST)
            self._known_from[job] = last.position if last else EPOCH
        return self._rows[job]


_RECALLS: dict[Path, Recall[Any]] = {}


@contextmanager
def sole_writer(settings: Settings) -> Iterator[None]:
    """While this lasts, nobody but this application writes the ledger of a home."""
    _RECALLS[settings.warehouse] = Recall()
    try:
        yield
    finally:
        del _RECALLS[settings.warehouse]


def recall_of(settings: Settings) -> Recall[Any] | None:
    """What is known of a home's ledger; None if others may write it."""
    return _RECALLS.get(settings.warehouse)
