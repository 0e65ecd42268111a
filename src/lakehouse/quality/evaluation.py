"""From counts to verdicts: plain Python, no Spark."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from lakehouse.quality.history import History, Look
from lakehouse.quality.suites import STOP, WARN, Expectation

Counts = Mapping[str, tuple[int, int]]
"""By id of the expectation: rows that it is about, and how many of these are not as expected."""


@dataclass(frozen=True)
class Result:
    """What came of an expectation.

    Args:
        expectation: which.
        success: whether all is as expected, or there is too little to say.
        rows: rows that it was about, those counted before included.
        unexpected: how many of these were not as expected.
        observed: their share; of a number, the number.
        history: what the shop's own history has of it; None if it is not compared, or there is too little.
    """

    expectation: Expectation
    success: bool
    rows: int
    unexpected: int
    observed: float
    history: Look | None = None

    @property
    def severity(self) -> str:
        """That of the expectation; of one that is compared with history, `warn` while there is too little."""
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


def allowed_share(expectation: Expectation, history: Look | None) -> float:
    """The share of rows that may be other than expected: as declared, or more where that is a habit."""
    declared = 1 - expectation.mostly
    if history is None or expectation.margin is None:
        return declared
    return max(declared, history.unexpected / history.rows + expectation.margin)


class Judge:
    """Decides on counts. Rows too few to say anything are kept, and counted with those that come next.

    Args:
        expectations: those that are decided by shares of rows.
        history: what some of them are compared with.
    """

    def __init__(self, expectations: Sequence[Expectation], history: History | None = None) -> None:
        self._expectations = expectations
        self._history = history or History()
        self._kept: dict[str, tuple[int, int]] = {}

    def decide(self, counts: Counts) -> list[Result]:
        """A result for each expectation that has been counted."""
        return [self._decide(each, *counts[each.id]) for each in self._expectations if each.id in counts]

    def decide_again(self, counts: Counts, failed: Collection[str]) -> list[Result]:
        """The same for held rows: by themselves, and for what failed however few they are."""
        return [
            result_of(
                each, *counts[each.id], 1 if each.id in failed else each.at_least, self._history.of(each)
            )
            for each in self._expectations
            if each.id in counts
        ]

    def forget(self) -> None:
        """Begin anew: what was kept has been decided on by somebody."""
        self._kept.clear()

    def _decide(self, expectation: Expectation, rows: int, unexpected: int) -> Result:
        if rows < expectation.at_least:
            before = self._kept.get(expectation.id, (0, 0))
            rows, unexpected = rows + before[0], unexpected + before[1]
        if rows < expectation.at_least:
            self._kept[expectation.id] = rows, unexpected
        else:
            self._kept.pop(expectation.id, None)
        return result_of(expectation, rows, unexpected, expectation.at_least, self._history.of(expectation))


def result_of(
    expectation: Expectation, rows: int, unexpected: int, at_least: int, history: Look | None = None
) -> Result:
    """The result of these counts, if they are enough to say anything."""
    says = rows >= max(at_least, 1)
    success = not says or (rows - unexpected) / rows >= expectation.mostly
    if not success and history is not None:
        success = unexpected / rows <= allowed_share(expectation, history)
    return Result(expectation, success, rows, unexpected, unexpected / rows if rows else 0.0, history)
