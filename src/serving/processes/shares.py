"""How much processor time the queries of each reader have taken lately."""

import math
import threading
import time
from collections.abc import Callable

_SECONDS = 10.0
_FREE_SHARE = 0.25
"""The part of a core for which queries do not give way: less than a fair share of any machine."""
LOWEST = 19
"""The last niceness."""


class Shares:
    """Processor time by reader, of which a part of 1 - 1/e is forgotten every ten seconds.

    Args:
        clock: seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._used: dict[str, tuple[float, float]] = {}
        """By reader: seconds of processor time, and when they were counted."""

    def add(self, reader: str, seconds: float) -> None:
        """Count processor time of a reader's query, in seconds."""
        with self._lock:
            self._used[reader] = (self._left(reader) + seconds, self._clock())
            for other in [other for other in self._used if self._left(other) < 1e-3]:
                del self._used[other]

    def nice(self, reader: str) -> int:
        """Niceness of a reader's next query: 0 up to a quarter of a core lately, 19 from a whole one on."""
        with self._lock:
            share = self._left(reader) / _SECONDS
            return max(0, min(LOWEST, int((LOWEST + 1) * (share - _FREE_SHARE) / (1 - _FREE_SHARE))))

    def _left(self, reader: str) -> float:
        used, at = self._used.get(reader, (0.0, 0.0))
        return used * math.exp((at - self._clock()) / _SECONDS)
