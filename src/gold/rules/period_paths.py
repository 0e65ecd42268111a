"""The paths of a period, and the credit of channels in it."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from gold.rules.markov import Chain
from gold.rules.paths import DATA_DRIVEN, Credit, Path

MODELS = tuple(DATA_DRIVEN)
LAST_DAYS = timedelta(days=30)


@dataclass(frozen=True)
class PeriodPaths:
    """A period and its paths, in order of their channels.

    Args:
        start: start of the period, included.
        end: end of the period, excluded.
        paths: at least one; each sequence of channels once.
    """

    start: datetime
    end: datetime
    paths: tuple[Path, ...]

    def credits(self) -> dict[str, dict[str, Credit]]:
        """Credit by model and channel."""
        return {model: compute(self.paths) for model, compute in DATA_DRIVEN.items()}

    def figures(self) -> dict[str, float]:
        """Number of paths and of their outcomes, and the conversion probability of the Markov chain."""
        chain = Chain((path.channels, path.conversions, path.nulls) for path in self.paths)
        return {
            "paths": float(len(self.paths)),
            "conversions": float(sum(path.conversions for path in self.paths)),
            "nulls": float(sum(path.nulls for path in self.paths)),
            "conversion_probability": chain.conversion_probability,
        }

    def as_csv(self) -> str:
        """The paths as CSV: path, conversions, value, nulls."""
        text = io.StringIO()
        file = csv.writer(text, lineterminator="\n")
        file.writerow(("path", *Path._fields[1:]))
        file.writerows((" > ".join(path.channels), *path[1:]) for path in self.paths)
        return text.getvalue()


def gather(rows: Iterable[tuple[datetime, datetime, Path]]) -> tuple[PeriodPaths, ...]:
    """Group paths by period.

    Args:
        rows: start and end of a period, and a path of it.
    """
    by_period = groupby(sorted(rows), key=lambda row: row[:2])
    return tuple(
        PeriodPaths(start, end, tuple(path for *_, path in theirs)) for (start, end), theirs in by_period
    )
