"""Ending a client when its user says so, at a record's boundary."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_TICK = 0.1
"""Seconds a pause goes on at most after a signal."""


class StoppedError(Exception):
    """Raised where waiting for input would otherwise go on."""


class Stop:
    """Whether the user wants an end (Ctrl-C, or SIGTERM from a supervisor).

    A signal only leaves a mark, so that no record is half sent, half counted. The one place where
    it raises is inside `interruptible`: reading from a pipe that may never say another word.
    """

    def __init__(self) -> None:
        self.requested = False
        self._waiting = False

    @contextmanager
    def on_signals(self) -> Iterator["Stop"]:
        """Listen to SIGINT and SIGTERM while inside; call from the main thread."""
        before: dict[int, Any] = {
            number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let a signal raise `StoppedError` while inside."""
        self._waiting = True
        try:
            if self.requested:
                raise StoppedError
            yield
        finally:
            self._waiting = False

    def pause(self, seconds: float) -> None:
        """Sleep, but not past a stop."""
        until = time.monotonic() + seconds
        while not self.requested and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _TICK))

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
        if self._waiting:
            raise StoppedError
