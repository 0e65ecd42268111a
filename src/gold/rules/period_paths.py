"""The paths of a period, and the credit of channels in it."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from hashlib import sha256

from gold.rules.markov import Chain
from gold.rules.paths import DATA_DRIVEN, Path, to_money, total_value

MODELS = tuple(DATA_DRIVEN)
LAST_DAYS = timedelta(days=30)
FIGURES = ("paths", "conversions", "nulls", "conversion_probability")


@dataclass(frozen=True)
class PeriodPaths:
    """The paths of one period, in order of their channels.

    Args:
        paths: at least one; each sequence of channels once.
    """

    paths: tuple[Path, ...]

    @classmethod
    def of(cls, paths: Iterable[Path]) -> "PeriodPaths":
        """From paths in any order."""
        return cls(tuple(sorted(paths)))

    def credits(self) -> Iterator[tuple[str, str, float, Decimal | None]]:
        """Model, channel, credited conversions and value; see `gold.rules.paths.to_money`."""
        total = total_value(self.paths)
        for model, compute in DATA_DRIVEN.items():
            credited = compute(self.paths)
            values = to_money(credited, total)
            for channel, credit in credited.items():
                yield model, channel, credit.conversions, values[channel]

    def figures(self) -> tuple[float, ...]:
        """By `FIGURES`: numbers of paths and outcomes, and the conversion probability of the Markov chain."""
        chain = Chain((path.channels, path.conversions, path.nulls) for path in self.paths)
        conversions = sum(path.conversions for path in self.paths)
        nulls = sum(path.nulls for path in self.paths)
        return float(len(self.paths)), float(conversions), float(nulls), chain.conversion_probability

    def digest(self) -> str:
        """SHA-256 of the paths."""
        return sha256(json.dumps(self.paths).encode()).hexdigest()

    def as_csv(self) -> str:
        """The paths as CSV: path, conversions, value, nulls."""
        text = io.StringIO()
        file = csv.writer(text, lineterminator="\n")
        file.writerow(("path", *Path._fields[1:]))
        file.writerows((" > ".join(path.channels), *path[1:]) for path in self.paths)
        return text.getvalue()


@dataclass(frozen=True)
class PeriodCredit:
    """The credit of channels in a period, without its paths, which are many.

    Args:
        start: start of the period, included.
        end: end of the period, excluded.
        figures: by `FIGURES`.
        digest: SHA-256 of the paths.
        conversions: credited, by model and channel.
    """

    start: datetime
    end: datetime
    figures: Mapping[str, float]
    digest: str
    conversions: Mapping[str, Mapping[str, float]]

    def metrics(self) -> dict[str, float]:
        """The figures, and credited conversions by model and channel."""
        credited = {
            f"{model}/{channel}": conversions
            for model, of in self.conversions.items()
            for channel, conversions in of.items()
        }
        return {**self.figures, **credited}
