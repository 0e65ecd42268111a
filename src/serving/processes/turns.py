"""Turns of readers: how many run at the same time, and wait, in total and of each reader."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from serving.query_limits import QueryLimits, TryLaterError


class Turns:
    """Each reader has one turn at a time.

    Args:
        limits: how many turns there are, and how many and how long readers wait.
    """

    def __init__(self, limits: QueryLimits) -> None:
        self._limits = limits
        self._changed = threading.Condition()
        self._running: set[str] = set()
        self._waiting: Counter[str] = Counter()

    @contextmanager
    def turn(self, reader: str) -> Iterator[bool]:
        """A turn of a reader during the block: whether it has to give way, see `_gives_way`.

        Raises:
            TryLaterError: if there is none in time, or the reader waits too often.
        """
        with self._changed:
            if self._waiting[reader] >= self._limits.waiting:
                raise TryLaterError("too many of your queries wait", "Try again later")
            self._waiting[reader] += 1
            try:
                is_free = self._changed.wait_for(lambda: self._is_free(reader), self._limits.seconds)
            finally:
                self._waiting[reader] -= 1
                self._waiting += Counter()  # forgets readers who do not wait
            if not is_free:
                raise TryLaterError("too many queries run", "Try again later")
            self._running.add(reader)
            gives_way = self._gives_way(reader)
        try:
            yield gives_way
        finally:
            with self._changed:
                self._running.discard(reader)
                self._changed.notify_all()

    def _gives_way(self, reader: str) -> bool:
        """Whether the reader has more queries waiting while another reader has any."""
        return self._waiting[reader] > 0 and len(self._running | set(self._waiting)) > 1

    def _is_free(self, reader: str) -> bool:
        return reader not in self._running and len(self._running) < self._limits.at_once
