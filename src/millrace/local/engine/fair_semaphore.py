"""A fair semaphore for jobs that share few cores: first come, first served, with a short cut for some."""

import threading
from dataclasses import dataclass, field
from types import TracebackType

_MOST_PASSED = 2


@dataclass
class _Waiting:
    """A thread that waits; `passed` counts how often another one was let in before it."""

    goes_ahead: bool
    passed: int = 0
    turn: threading.Event = field(default_factory=threading.Event)


class FairSemaphore:
    """A fair semaphore; `first` and `others` are context managers that hold it.

    With `threading.Semaphore`, a thread can acquire again right after its release, so a job with a backlog
    would starve the jobs after it.

    Args:
        at_once: maximum number of concurrent holders.

    Attributes:
        first: for jobs that go ahead of others that wait; each of these is passed twice at most.
        others: for all other jobs.
    """

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._waiting: list[_Waiting] = []
        self._lock = threading.Lock()
        self.first, self.others = Turn(self, goes_ahead=True), Turn(self, goes_ahead=False)

    def acquire(self, goes_ahead: bool) -> None:
        """Wait for a turn."""
        with self._lock:
            if self._free:
                self._free -= 1
                return
            mine = _Waiting(goes_ahead)
            self._waiting.append(mine)
        mine.turn.wait()

    def release(self) -> None:
        """End a turn."""
        with self._lock:
            if self._waiting:
                self._next().turn.set()
            else:
                self._free += 1

    def _next(self) -> _Waiting:
        """Remove the one whose turn it is from those that wait."""
        has_turn = (each for each in self._waiting if each.goes_ahead or each.passed >= _MOST_PASSED)
        chosen = next(has_turn, self._waiting[0])
        place = self._waiting.index(chosen)
        for each in self._waiting[:place]:
            each.passed += 1
        return self._waiting.pop(place)


@dataclass(frozen=True)
class Turn:
    """A turn of a job, as a context manager that can be entered again and again."""

    semaphore: FairSemaphore
    goes_ahead: bool

    def __enter__(self) -> None:
        self.semaphore.acquire(self.goes_ahead)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.semaphore.release()
