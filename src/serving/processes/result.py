"""Results of queries as JSON, and how many bytes are kept, in total and per reader."""

import threading
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from serving.processes.stored_parts import StoredParts
from serving.query_limits import QueryLimits, TryLaterError
from serving.sources.query_result import Part
from serving.sources.row_changes import KeyedRow, RowChange, as_whole, result_changes


class ResultMemory:
    """Counts the bytes of results for as long as anything refers to them.

    Args:
        limits: bytes of all results, and of those of a reader; None: no limits.
    """

    def __init__(self, limits: QueryLimits | None) -> None:
        self._limits = limits
        self._lock = threading.RLock()  # a collected result may be freed inside `take`
        self._used: Counter[str] = Counter()

    def take(self, reader: str, size: int) -> None:
        """Reserve bytes.

        Raises:
            TryLaterError: if there are too many.
        """
        with self._lock:
            total, own, limits = self._used.total() + size, self._used[reader] + size, self._limits
            if limits is not None and (total > limits.kept_bytes or own > limits.kept_bytes_of_reader):
                raise TryLaterError("the results of other queries are still being read", "Try again later")
            self._used[reader] = own

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
        folder: for what is stored on disk; None: in the system's folder of temporary files.
    """

    def __init__(
        self,
        items: Iterable[list[str] | Part],
        memory: ResultMemory | None = None,
        reader: str = "",
        folder: Path | None = None,
    ) -> None:
        self.columns: list[str] = []
        self._parts = StoredParts(folder)
        memory = memory or ResultMemory(None)
        taken: list[int] = []
        free = weakref.finalize(self, memory.free, reader, taken)
        try:
            for item in items:
                if isinstance(item, Part):
                    memory.take(reader, item.size)
                    taken.append(item.size)
                    self._parts.add(item)
                else:
                    self.columns = item
        except BaseException:
            free()  # whoever has the error may have this result, too
            raise

    def lines(self) -> Iterator[bytes]:
        """The rows, one a line, in parts."""
        for part in self._parts:
            yield part.rows

    def keyed(self) -> Iterator[KeyedRow]:
        """The rows with their keys."""
        for part in self._parts:
            yield from part.keyed()

    def changes_to(self, later: "Result") -> tuple[list[RowChange], bool]:
        """Changes up to a later result, see `result_changes`. Equal rows take no memory for long."""
        with _ONE_AT_A_TIME:
            common = Counter(row for _, row in self.keyed()) & Counter(row for _, row in later.keyed())
            rows, is_unique = result_changes(_without(self, common), _without(later, common))
            has_key = is_unique and _has_key(self) and _has_key(later)
            if is_unique and not has_key:
                rows = as_whole(rows)
            return rows, has_key


_ONE_AT_A_TIME = threading.Lock()


def _has_key(result: Result) -> bool:
    """Whether no key occurs twice."""
    seen: set[bytes] = set()
    count = 0
    for key, _ in result.keyed():
        seen.add(key)
        count += 1
    return len(seen) == count


def _without(result: Result, common: Counter[bytes]) -> list[KeyedRow]:
    """The rows of a result without the common ones."""
    left, found = Counter(common), []
    for key, row in result.keyed():
        if left[row] > 0:
            left[row] -= 1
        else:
            found.append((key, row))
    return found
