"""The shop's own history: shares of violating rows in recent evaluations that approved rows."""

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass

from lakehouse.quality.suites import STOP, Expectation

EVALUATIONS = 50
"""Number of latest evaluations that count as the shop's history."""

_ENOUGH_EVALUATIONS, _ENOUGH_ROWS = 5, 10  # evaluations, and rows as a multiple of `at_least`


@dataclass(frozen=True)
class RowCounts:
    """Counts of one expectation in one evaluation.

    Args:
        rows: rows in scope.
        unexpected: how many of these violate it.
    """

    rows: int
    unexpected: int


class History:
    """Recent counts of each expectation that is compared with history."""

    def __init__(self) -> None:
        self._evaluations: dict[str, deque[RowCounts]] = defaultdict(lambda: deque(maxlen=EVALUATIONS))

    def add(self, expectation: Expectation, counts: RowCounts) -> None:
        """Add the counts of a later evaluation, unless it had too few rows."""
        if expectation.margin is not None and counts.rows >= enough_rows(expectation):
            self._evaluations[expectation.id].append(counts)

    def of(self, expectation: Expectation) -> RowCounts | None:
        """The sum of the counts; None while there are too few."""
        evaluations = self._evaluations[expectation.id]
        rows = sum(each.rows for each in evaluations)
        if len(evaluations) < _ENOUGH_EVALUATIONS or rows < _ENOUGH_ROWS * enough_rows(expectation):
            return None
        return RowCounts(rows, sum(each.unexpected for each in evaluations))


def enough_rows(expectation: Expectation) -> int:
    """Number of rows from which on an evaluation counts."""
    return max(expectation.at_least, 1)


@dataclass(frozen=True)
class WrittenCounts:
    """Columns of a row of ops.expectations."""

    run_id: str
    table: str
    name: str
    success: bool
    severity: str
    rows: int
    unexpected: int


def history_of(
    expectations: Iterable[Expectation], written: Iterable[WrittenCounts], released: Iterable[str]
) -> History:
    """The history when a job starts.

    Args:
        expectations: the current expectations.
        written: results that publish wrote, in order. One that closed the gate counts only if its rows were
            released: repaired rows are not part of the history.
        released: run_id of evaluations with released rows.
    """
    known = {each.id: each for each in expectations}
    accepted, history = set(released), History()
    for row in written:
        expectation = known.get(f"{row.table}: {row.name}")
        if expectation and (row.success or row.severity != STOP or row.run_id in accepted):
            history.add(expectation, RowCounts(row.rows, row.unexpected))
    return history
