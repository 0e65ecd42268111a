"""The subscribers of a channel. While there are none, nothing is read for them."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Attendance:
    """Counts subscribers, in the thread of the event loop. Another thread reads what they follow.

    Args:
        changed: wakes that thread.
    """

    def __init__(self, changed: threading.Event) -> None:
        self._changed = changed
        self._used_at = time.monotonic()
        self.present = 0
        """Number of subscribers."""
        self.arrivals = 0
        """How often one has come while there was none."""
        self.served = 0
        """The last of these after which the source was read."""

    @contextmanager
    def subscriber(self) -> Iterator[None]:
        """Count a subscriber during the block."""
        self.present += 1
        if self.present == 1:
            self.arrivals += 1
            self._changed.set()
        try:
            yield
        finally:
            self.present -= 1
            self._used_at = time.monotonic()

    def renew(self) -> None:
        """Count as used now, for a subscriber that is about to come."""
        self._used_at = time.monotonic()

    def is_used(self, seconds: float) -> bool:
        """Whether there is a subscriber, or was one within the last `seconds`."""
        return self.present > 0 or time.monotonic() - self._used_at < seconds
