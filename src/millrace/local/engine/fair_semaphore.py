"""A fair semaphore for jobs that share few cores: first come, first served."""

import threading
from collections import deque
from types import TracebackType


class FairSemaphore:
    """A fair semaphore, as a context manager.

    `threading.Semaphore` lets whoever has just given its turn back take it again at once; a job with a
    backlog would keep the jobs after it from ever starting.

    Args:
        at_once: how many may have a turn at the same time.
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
