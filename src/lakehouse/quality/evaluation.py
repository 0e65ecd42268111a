"""Evaluates expectations on counts of rows. Plain Python, without Spark."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from lakehouse.quality.history import History, RowCounts
from lakehouse.quality.suites import STOP, WARN, Expectation

Counts = Mapping[str, tuple[int, int]]
"""By id of the expectation: rows in scope, and how many of these violate it."""


@dataclass(frozen=True)
class Result:
    """The result of evaluating an expectation.

    Args:
        expectation: the expectation.
        success: whether it was met, or there were too few rows to decide.
        rows: rows in scope, those of earlier batches that were too small included.
        unexpected: how many of these violate it.
        observed: their share; for row counts, the number.
        history: counts of the shop's own history; None if it is not compared, or there is too little.
    """

    expectation: Expectation
    success: bool
    rows: int
    unexpected: int
    observed: float
    history: RowCounts | None = None

    @property
    def severity(self) -> str:
        """Severity of the expectation; `warn` while there is too little history to compare with."""
        is_new = self.expectation.margin is not None and self.history is None
        return WARN if is_new else self.expectation.severity

    @property
    def stops(self) -> bool:
        """Whether it closes the gate."""
        return not self.success and self.severity == STOP

    def __str__(self) -> str:
        parts = [f"not so for {self.unexpected:,} of {self.rows:,} rows ({self.observed:.1%})"]
        if (most := allowed_share(self.expectation, self.history)) > 0:
            parts.append(f"at most {most:.1%} is expected")
        if self.history:
            share = self.history.unexpected / self.history.rows
            parts.append(f"{share:.1%} of the last {self.history.rows:,} were")
        elif self.expectation.margin is not None:
            parts.append("a warning, until there is history to compare with")
        advice = f". {self.expectation.advice}" if self.expectation.advice else ""
        return f"{self.expectation.id}: {', '.join(parts)}{advice}"


def allowed_share(expectation: Expectation, history: RowCounts | None) -> float:
    """The share of rows that may violate it: as declared, or the usual share plus the margin if larger."""
    declared = 1 - expectation.mostly
    if history is None or expectation.margin is None:
        return declared
    return max(declared, history.unexpected / history.rows + expectation.margin)


class Evaluator:
    """Evaluates expectations on counts. Counts that are too small are added to those of the next batch.

    Args:
        expectations: expectations on shares of rows.
        history: what those with a margin are compared with.
    """

    def __init__(self, expectations: Sequence[Expectation], history: History | None = None) -> None:
        self._expectations = expectations
        self._history = history or History()
        self._kept: dict[str, tuple[int, int]] = {}

    def evaluate(self, counts: Counts) -> list[Result]:
        """A result for each expectation that has counts."""
        return [self._evaluate(each, *counts[each.id]) for each in self._expectations if each.id in counts]

    def evaluate_again(self, counts: Counts, failed: Collection[str]) -> list[Result]:
        """The same for held rows only. Those that failed are decided on however few rows there are."""
        return [
            result_of(
                each, *counts[each.id], 1 if each.id in failed else each.at_least, self._history.of(each)
            )
            for each in self._expectations
            if each.id in counts
        ]

    def reset(self) -> None:
        """Drop the counts of earlier batches."""
        self._kept.clear()

    def _evaluate(self, expectation: Expectation, rows: int, unexpected: int) -> Result:
        if rows < expectation.at_least:
            before = self._kept.get(expectation.id, (0, 0))
            rows, unexpected = rows + before[0], unexpected + before[1]
        if rows < expectation.at_least:
            self._kept[expectation.id] = rows, unexpected
        else:
            self._kept.pop(expectation.id, None)
        return result_of(expectation, rows, unexpected, expectation.at_least, self._history.of(expectation))


def result_of(
    expectation: Expectation, rows: int, unexpected: int, at_least: int, history: RowCounts | None = None
) -> Result:
    """The result of these counts; success if there are too few rows to decide."""
    is_decided = rows >= max(at_least, 1)
    success = not is_decided or (rows - unexpected) / rows >= expectation.mostly
    if not success and history is not None:
        success = unexpected / rows <= allowed_share(expectation, history)
    return Result(expectation, success, rows, unexpected, unexpected / rows if rows else 0.0, history)
