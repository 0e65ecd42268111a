"""The result of one run of the data-driven models."""

import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from zoneinfo import ZoneInfo

from folds.persons import models
from gold.rules import markov, paths
from gold.rules.period_paths import LAST_DAYS, PeriodCredit

_LAST = "last_30_days"


@dataclass(frozen=True)
class ModelRun:
    """Credit by period, and what it depends on.

    Args:
        watermark: the watermark of gold.
        zone: the time zone of the months.
        periods: the credit of each period, in order.
        rules: settings of the models, by name.
    """

    watermark: datetime
    zone: str
    periods: tuple[PeriodCredit, ...]
    rules: Mapping[str, str]

    @property
    def hashes(self) -> dict[str, str]:
        """SHA-256 of the paths, and of the code and settings of the models."""
        payload = [[each.start.isoformat(), each.end.isoformat(), each.digest] for each in self.periods]
        code = [inspect.getsource(module) for module in (markov, models, paths)]
        return {"paths_sha256": _hash(payload), "rules_sha256": _hash([*code, sorted(self.rules.items())])}

    def name_of(self, period: PeriodCredit) -> str:
        """`last_30_days`, or the month, as 2026-03."""
        if (period.start, period.end) == (self.watermark - LAST_DAYS, self.watermark):
            return _LAST
        return f"{period.start.astimezone(ZoneInfo(self.zone)):%Y-%m}"

    def latest(self) -> list[PeriodCredit]:
        """The last 30 days and the latest month, if they exist."""
        months = [period for period in self.periods if self.name_of(period) != _LAST]
        return [*months[-1:], *(period for period in self.periods if self.name_of(period) == _LAST)]

    def metrics(self) -> Iterator[tuple[str, int, dict[str, float]]]:
        """By period: prefix of the metrics' names, a step (202603 for a month), and the metrics."""
        for period in self.periods:
            name = self.name_of(period)
            prefix, step = (f"{_LAST}/", 0) if name == _LAST else ("", int(name.replace("-", "")))
            yield prefix, step, period.metrics()


def _hash(payload: object) -> str:
    return sha256(json.dumps(payload).encode()).hexdigest()
