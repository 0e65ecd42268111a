"""Ending what runs when its user says so: the batch at hand may finish, but not for long."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from lakehouse.errors import MillraceError

GRACE_SECONDS = 6.0
"""For the batch at hand; what is cut off is done again at the next start."""


class GracefulShutdown:
    """What Ctrl-C and SIGTERM do to a Spark application.

    The first signal sets `asked`, so that jobs end after the batch at hand; a second one, or the end
    of the grace, cuts that batch off. Before there is anything to cut off, a signal just ends the start.
    """

    def __init__(self) -> None:
        self.asked = threading.Event()
        self._cut_off: Callable[[], None] | None = None

    @contextmanager
    def on_signals(self) -> Iterator["GracefulShutdown"]:
        """Listen to SIGINT and SIGTERM while inside; call from the main thread."""
        before: dict[int, Any] = {
            number: signal.signal(number, self._on_signal) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def cut_off_by(self, cut_off: Callable[[], None]) -> None:
        """Say how the batch at hand is cut off; it may be called at any moment, and more than once."""
        self._cut_off = cut_off

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._cut_off is None:
            raise MillraceError("stopped before Spark was ready", "Run it again: it goes on where it stood")
        if self.asked.is_set():
            self._cut_off()
            return
        self.asked.set()
        timer = threading.Timer(GRACE_SECONDS, self._cut_off)
        timer.daemon = True
        timer.start()
