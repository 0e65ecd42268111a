"""The stretch of event time that the page shows, and the steps it is cut into."""

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
ALL = "All"
CHOICES: dict[str, timedelta | None] = {
    "Last hour": timedelta(hours=1),
    "6 hours": timedelta(hours=6),
    "24 hours": timedelta(hours=24),
    ALL: None,
}
DEFAULT = "24 hours"

_MOST_STEPS = 300  # more bars than this can't be told apart
_STEPS = tuple(
    timedelta(minutes=minutes) for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 10080)
)


@dataclass(frozen=True)
class Period:
    """From `start` (included) to `end` (excluded), both on whole minutes, in UTC."""

    start: datetime
    end: datetime

    @property
    def step(self) -> timedelta:
        """The shortest step that cuts the period into few enough to be seen."""
        for step in _STEPS:
            if (self.end - self.start) / step <= _MOST_STEPS:
                return step
        return _STEPS[-1]


def chosen_period(choice: str, first: datetime, last: datetime) -> Period:
    """The period of a choice, counted back from the latest event rather than from the clock.

    Args:
        choice: one of `CHOICES`.
        first: start of the earliest minute with data.
        last: end of the latest minute with data.
    """
    length = CHOICES[choice]
    return Period(first if length is None else max(first, last - length), last)


def step_words(step: timedelta) -> str:
    """A step as it reads after "per": `minute`, `5 minutes`, `hour`, `day`."""
    minutes = int(step.total_seconds()) // 60
    for size, word in ((1440, "day"), (60, "hour"), (1, "minute")):
        if minutes % size == 0:
            count = minutes // size
            return word if count == 1 else f"{count} {word}s"
    raise ValueError(f"a step is whole minutes, not {step}")
