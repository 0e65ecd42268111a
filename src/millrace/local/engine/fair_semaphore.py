"""A fair semaphore for jobs that share few cores: first come, first served, jobs of a round before others."""

import threading
import time
from dataclasses import dataclass
from types import TracebackType

_MOST_PASSED = 4
_GRACE = 0.5  # seconds: a job takes less to ask for its turn after the job upstream of it has ended


@dataclass(eq=False)
class _Waiting:
    """A thread that waits; `passed` counts how often another one was let in before it."""

    in_round: bool
    passed: int = 0


class FairSemaphore:
    """A fair semaphore; `first`, `last` and `others` are context managers that hold it.

    With `threading.Semaphore`, a thread can acquire again right after its release, so a job with a backlog
    would starve the jobs after it.

    Args:
        at_once: maximum number of concurrent holders.

    Attributes:
        first: for jobs that go ahead of others, one after the other in a round, as refine and then publish.
        last: for the job that ends a round.
        others: for all other jobs. One of them is let in after each round, also if it has been passed four
            times, or if no job of a round has asked for its turn for half a second.
    """

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._waiting: list[_Waiting] = []
        self._changed = threading.Condition()
        self._is_after_round = False
        self._grace_until = 0.0  # on the monotonic clock
        self.first, self.others = Turn(self, in_round=True), Turn(self, in_round=False)
        self.last = Turn(self, in_round=True, ends_round=True)

    def acquire(self, in_round: bool) -> None:
        """Wait for a turn."""
        mine = _Waiting(in_round)
        with self._changed:
            self._waiting.append(mine)
            while self._next() is not mine:
                self._changed.wait(_GRACE if self._free else None)
            place = self._waiting.index(mine)
            for each in self._waiting[:place]:
                each.passed += 1
            del self._waiting[place]
            self._free -= 1
            self._is_after_round = False
            self._changed.notify_all()

    def release(self, in_round: bool, ends_round: bool) -> None:
        """End a turn."""
        with self._changed:
            self._free += 1
            self._is_after_round = ends_round
            if in_round and not ends_round:
                self._grace_until = time.monotonic() + _GRACE
            self._changed.notify_all()

    def _next(self) -> _Waiting | None:
        """The one whose turn it is."""
        if not self._free:
            return None
        ahead = next((each for each in self._waiting if each.in_round), None)
        other = next((each for each in self._waiting if not each.in_round), None)
        if other is None or self._is_after_round or other.passed >= _MOST_PASSED:
            return other or ahead
        return ahead if ahead or time.monotonic() < self._grace_until else other


@dataclass(frozen=True)
class Turn:
    """A turn of a job, as a context manager that can be entered again and again."""

    semaphore: FairSemaphore
    in_round: bool
    ends_round: bool = False

    def __enter__(self) -> None:
        self.semaphore.acquire(self.in_round)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.semaphore.release(self.in_round, self.ends_round)
