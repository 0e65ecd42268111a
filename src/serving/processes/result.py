"""Results of queries as JSON."""

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from serving.processes.stored_parts import StoredParts
from serving.reader_budget import ReaderBudget
from serving.sources.query_result import Part
from serving.sources.row_changes import KeyedRow, RowChange, as_whole, result_changes


class Result:
    """The result of a query, as JSON.

    Args:
        items: the columns, then its rows in parts.
        budget: counts its bytes; None: without limit.
        reader: for whom it is kept.
        folder: for what is stored on disk; None: in the system's folder of temporary files.
    """

    def __init__(
        self,
        items: Iterable[list[str] | Part],
        budget: ReaderBudget | None = None,
        reader: str = "",
        folder: Path | None = None,
    ) -> None:
        self.columns: list[str] = []
        self._parts = StoredParts(folder)
        with (budget or ReaderBudget()).reserve(reader) as self._reservation:
            for item in items:
                if isinstance(item, Part):
                    self._reservation.add(item.size)
                    self._parts.add(*item.texts)
                else:
                    self.columns = item

    def lines(self) -> Iterator[bytes]:
        """The rows, one a line, in parts."""
        for rows, *_ in self._parts:
            yield rows

    def keyed(self) -> Iterator[KeyedRow]:
        """The rows with their keys."""
        for texts in self._parts:
            yield from Part(*texts).keyed()

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
