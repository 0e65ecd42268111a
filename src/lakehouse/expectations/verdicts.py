"""From counts to verdicts: plain Python, no Spark."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from lakehouse.expectations.declared import STOP, Expectation

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
    """

    expectation: Expectation
    success: bool
    rows: int
    unexpected: int
    observed: float

    @property
    def stops(self) -> bool:
        """Whether it closes the gate."""
        return not self.success and self.expectation.severity == STOP

    def __str__(self) -> str:
        share = f"{self.unexpected:,} of {self.rows:,} rows ({self.observed:.1%}) are not"
        if self.expectation.mostly < 1:
            share += f", {1 - self.expectation.mostly:.1%} may be"
        return f"{self.expectation.id}: {share}"


class Judge:
    """Decides on counts. Rows too few to say anything are kept, and counted with those that come next.

    Args:
        expectations: those that are decided by shares of rows.
    """

    def __init__(self, expectations: Sequence[Expectation]) -> None:
        self._expectations = expectations
        self._kept: dict[str, tuple[int, int]] = {}

    def decide(self, counts: Counts) -> list[Result]:
        """A result for each expectation that has been counted."""
        return [self._decide(each, *counts[each.id]) for each in self._expectations if each.id in counts]

    def decide_again(self, counts: Counts, failed: Collection[str]) -> list[Result]:
        """The same for held rows: by themselves, and for what failed however few they are."""
        return [
            result_of(each, *counts[each.id], at_least=1 if each.id in failed else each.at_least)
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
        return result_of(expectation, rows, unexpected, expectation.at_least)


def result_of(expectation: Expectation, rows: int, unexpected: int, at_least: int) -> Result:
    """The result of these counts, if they are enough to say anything."""
    share = unexpected / rows if rows else 0.0
    says = rows >= max(at_least, 1)
    return Result(
        expectation, not says or (rows - unexpected) / rows >= expectation.mostly, rows, unexpected, share
    )
