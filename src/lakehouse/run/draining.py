"""Draining: a job of an application, as erase, waits until the jobs downstream of refine have caught up.

Under a steady load refine is always ahead of them. So refine starts no micro-batch until the waiting job has
ended, and the jobs downstream start theirs without a pause. Jobs of other applications are not affected.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_WAITING: Counter[Path] = Counter()  # jobs that wait, by warehouse
_CHANGES = threading.Lock()
_POLL_SECONDS = 0.2


@contextmanager
def draining(warehouse: Path) -> Iterator[None]:
    """Drain the jobs of a warehouse while the context lasts."""
    _add(warehouse, 1)
    try:
        yield
    finally:
        _add(warehouse, -1)


def is_draining(warehouse: Path) -> bool:
    """Whether a job waits for the jobs of a warehouse."""
    with _CHANGES:
        return _WAITING[warehouse] > 0


def wait_until_drained(warehouse: Path, stop: threading.Event) -> None:
    """Wait until no job waits for the jobs of a warehouse, or `stop` is set."""
    while is_draining(warehouse) and not stop.wait(_POLL_SECONDS):
        pass


def pause_unless_draining(warehouse: Path, seconds: float, stop: threading.Event) -> None:
    """Wait for the given time, or until a job waits for the jobs of a warehouse, or `stop` is set."""
    until = time.monotonic() + seconds
    while not is_draining(warehouse) and (left := until - time.monotonic()) > 0:
        if stop.wait(min(left, _POLL_SECONDS)):
            return


def _add(warehouse: Path, number: int) -> None:
    with _CHANGES:
        _WAITING[warehouse] += number
