"""A fair semaphore for jobs that share few cores: first come, first served."""

import threading
from collections import deque
from types import TracebackType


class FairSemaphore:
    """A fair semaphore, as a context manager.

    With `threading.Semaphore`, a thread can acquire again right after its release, so a job with a backlog
    would starve the jobs after it.

    Args:
        at_once: maximum number of concurrent holders.
    """

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._waiting: deque[threading.Event] = deque()
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return
            mine = threading.Event()
            self._waiting.append(mine)
        mine.wait()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._free += 1
