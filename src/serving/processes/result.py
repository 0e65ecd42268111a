"""Results of queries as JSON, and the memory that they may take in total and of each reader."""

import threading
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from serving.query_limits import QueryLimits, TryLaterError
from serving.sources.query_result import Part
from serving.sources.row_changes import KeyedRow


class ResultMemory:
    """Counts the bytes of results for as long as anything refers to them.

    Args:
        limits: bytes of all results, and of those of a reader.
    """

    def __init__(self, limits: QueryLimits) -> None:
        self._limits = limits
        self._lock = threading.RLock()  # a collected result may be freed inside `take`
        self._used: Counter[str] = Counter()

    def take(self, reader: str, size: int) -> None:
        """Reserve bytes.

        Raises:
            TryLaterError: if there are too many.
        """
        with self._lock:
            limits = self._limits
            is_full = self._used.total() + size > limits.kept_bytes
            if is_full or self._used[reader] + size > limits.kept_bytes_of_reader:
                raise TryLaterError("the results of other queries are still being read", "Try again later")
            self._used[reader] += size

    def free(self, reader: str, sizes: Sequence[int]) -> None:
        """Return bytes."""
        with self._lock:
            self._used[reader] -= sum(sizes)
            self._used += Counter()  # forgets readers without results


class Result:
    """The result of a query, as JSON.

    Args:
        items: the columns, then its rows in parts.
        memory: reserves its bytes; None: without limit.
        reader: for whom they are reserved.
    """

    def __init__(
        self, items: Iterable[list[str] | Part], memory: ResultMemory | None = None, reader: str = ""
    ) -> None:
        self.columns: list[str] = []
        self._parts: list[Part] = []
        taken: list[int] = []
        if memory is not None:
            weakref.finalize(self, memory.free, reader, taken)
        for item in items:
            if isinstance(item, Part):
                if memory is not None:
                    memory.take(reader, item.size)
                    taken.append(item.size)
                self._parts.append(item)
            else:
                self.columns = item

    def chunks(self) -> Iterator[Sequence[bytes]]:
        """The rows, in chunks."""
        for part in self._parts:
            yield part.rows.split(b"\n")

    def keyed(self) -> list[KeyedRow]:
        """The rows with their keys."""
        return [pair for part in self._parts for pair in part.keyed()]
