"""The result of one run of the data-driven models."""

import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from zoneinfo import ZoneInfo

from folds.persons import models
from gold.rules import markov, paths
from gold.rules.paths import Credit, to_money, total_value
from gold.rules.period_paths import LAST_DAYS, MODELS, PeriodPaths

Credits = Mapping[str, Mapping[str, Credit]]
_LAST = "last_30_days"


@dataclass(frozen=True)
class ModelRun:
    """Credit by period, and what it depends on.

    Args:
        watermark: the watermark of gold.
        zone: the time zone of the months.
        periods: the periods and their paths, in order.
        rules: settings of the models, by name.
        credits: by period, model and channel.
    """

    watermark: datetime
    zone: str
    periods: tuple[PeriodPaths, ...]
    rules: Mapping[str, str]
    credits: dict[PeriodPaths, Credits] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "credits", {period: period.credits() for period in self.periods})

    @property
    def hashes(self) -> dict[str, str]:
        """SHA-256 of the paths, and of the code and settings of the models."""
        payload = [[each.start.isoformat(), each.end.isoformat(), each.paths] for each in self.periods]
        code = [inspect.getsource(module) for module in (markov, models, paths)]
        return {"paths_sha256": _hash(payload), "rules_sha256": _hash([*code, sorted(self.rules.items())])}

    def name_of(self, period: PeriodPaths) -> str:
        """`last_30_days`, or the month, as 2026-03."""
        if (period.start, period.end) == (self.watermark - LAST_DAYS, self.watermark):
            return _LAST
        return f"{period.start.astimezone(ZoneInfo(self.zone)):%Y-%m}"

    def latest(self) -> list[PeriodPaths]:
        """The last 30 days and the latest month, if they exist."""
        months = [period for period in self.periods if self.name_of(period) != _LAST]
        return [*months[-1:], *(period for period in self.periods if self.name_of(period) == _LAST)]

    def metrics(self) -> Iterator[tuple[str, int, dict[str, float]]]:
        """By period: prefix of the metrics' names, a step (202603 for a month), and the metrics."""
        for period in self.periods:
            name = self.name_of(period)
            prefix, step = (f"{_LAST}/", 0) if name == _LAST else ("", int(name.replace("-", "")))
            yield prefix, step, {**period.figures(), **self._by_channel(period)}

    def rows(self, version: str) -> list[dict[str, object]]:
        """Rows of gold.channel_credit."""
        return [
            {
                "period_start": period.start,
                "period_end": period.end,
                "model": model,
                "channel": channel,
                "conversions": credit.conversions,
                "reporting_value": values[channel],
                "model_version": version,
            }
            for period in self.periods
            for model in MODELS
            for values in [to_money(self.credits[period][model], total_value(period.paths))]
            for channel, credit in self.credits[period][model].items()
        ]

    def _by_channel(self, period: PeriodPaths) -> dict[str, float]:
        return {
            f"{model}/{channel}": credit.conversions
            for model, of in self.credits[period].items()
            for channel, credit in of.items()
        }


def _hash(payload: object) -> str:
    return sha256(json.dumps(payload).encode()).hexdigest()
