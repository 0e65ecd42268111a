"""Handles Ctrl-C and SIGTERM: stops clients between records, and Spark applications after a micro-batch."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from lakehouse.errors import MillraceError

GRACE_SECONDS = 6.0
"""Seconds for the current micro-batch to end; an interrupted one is repeated at the next start."""

_POLL_SECONDS = 0.1

Handler = Callable[[int, FrameType | None], None]


@contextmanager
def _on_signals(handler: Handler) -> Iterator[None]:
    """Handle SIGINT and SIGTERM in the block, then restore the old handlers. Main thread only."""
    before: dict[int, Any] = {
        number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


class StoppedError(Exception):
    """Raised by a signal in a block of `ShutdownSignal.interruptible`."""


class ShutdownSignal:
    """Whether Ctrl-C or SIGTERM was received.

    A signal only sets `requested`, so that each sent record is counted. It raises an error only in a block of
    `interruptible`, which is for reads that may block forever.
    """

    def __init__(self) -> None:
        self.requested = False
        self._is_waiting = False

    @contextmanager
    def on_signals(self) -> Iterator["ShutdownSignal"]:
        """Handle SIGINT and SIGTERM inside; call from the main thread."""
        with _on_signals(self._note):
            yield self

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let a signal raise `StoppedError` in the block."""
        self._is_waiting = True
        try:
            if self.requested:
                raise StoppedError
            yield
        finally:
            self._is_waiting = False

    def pause(self, seconds: float) -> None:
        """Sleep until the time has passed, or until a signal."""
        until = time.monotonic() + seconds
        while not self.requested and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _POLL_SECONDS))

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
        if self._is_waiting:
            raise StoppedError


class GracefulShutdown:
    """Stops a Spark application on Ctrl-C or SIGTERM.

    The first signal sets `requested`: jobs end after the current micro-batch. A second one, or the end of the
    grace period, interrupts that batch. While Spark starts, a signal ends the start.
    """

    def __init__(self) -> None:
        self.requested = threading.Event()
        self._interrupt: Callable[[], None] | None = None

    @contextmanager
    def on_signals(self) -> Iterator["GracefulShutdown"]:
        """Handle SIGINT and SIGTERM inside; call from the main thread."""
        with _on_signals(self._on_signal):
            yield self

    def interrupt_by(self, interrupt: Callable[[], None]) -> None:
        """Set the function that interrupts a micro-batch; it may be called at any time, and repeatedly."""
        self._interrupt = interrupt

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._interrupt is None:
            raise MillraceError("stopped before Spark was ready", "Run it again: it resumes where it stopped")
        if self.requested.is_set():
            self._interrupt()
            return
        self.requested.set()
        timer = threading.Timer(GRACE_SECONDS, self._interrupt)
        timer.daemon = True
        timer.start()
