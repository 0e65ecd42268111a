"""Bytes that are kept for readers, in memory or on disk, within limits in total and of each reader."""

import math
import threading
import weakref
from collections import Counter
from collections.abc import Sequence
from types import TracebackType

from serving.query_limits import TryLaterError


class ReaderBudget:
    """Counts the bytes that are kept for readers.

    Args:
        total: maximum bytes for all readers; infinite by default.
        of_reader: maximum bytes for each reader; infinite by default.
        problem: what is said if there are too many.
        next_step: what the reader can do then.
    """

    def __init__(
        self,
        total: float = math.inf,
        of_reader: float = math.inf,
        problem: str = "too much is kept for readers",
        next_step: str = "Try again later",
    ) -> None:
        self._total = total
        self._of_reader = of_reader
        self._refusal = (problem, next_step)
        self._lock = threading.RLock()  # what is collected may be freed inside `take`
        self._used: Counter[str] = Counter()

    def reserve(self, reader: str) -> "Reservation":
        """A reservation of a reader, of no bytes yet."""
        return Reservation(self, reader)

    def take(self, reader: str, size: int) -> None:
        """Count bytes of a reader.

        Raises:
            TryLaterError: if there are too many.
        """
        with self._lock:
            own = self._used[reader] + size
            if self._used.total() + size > self._total or own > self._of_reader:
                raise TryLaterError(*self._refusal)
            self._used[reader] = own

    def give_back(self, reader: str, sizes: Sequence[int]) -> None:
        """Count bytes of a reader no more."""
        with self._lock:
            self._used[reader] -= sum(sizes)
            self._used += Counter()  # forgets readers of whom nothing is kept


class Reservation:
    """Bytes of a reader, which count as long as anything refers to the reservation.

    An error in its block ends it: whoever has the error may still refer to it.

    Args:
        budget: counts them.
        reader: name of the reader.
    """

    def __init__(self, budget: ReaderBudget, reader: str) -> None:
        self._budget = budget
        self._reader = reader
        self._sizes: list[int] = []
        self._free = weakref.finalize(self, budget.give_back, reader, self._sizes)

    def __enter__(self) -> "Reservation":
        """The reservation."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it after an error."""
        if kind is not None:
            self._free()

    def add(self, size: int) -> None:
        """Reserve further bytes.

        Raises:
            TryLaterError: if there are too many.
        """
        self._budget.take(self._reader, size)
        self._sizes.append(size)
