"""The stretch of event time that a page shows, the windows it is made of, the steps it is cut into."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

MINUTES, HOURS, DAYS, SLIDING = "1 minute", "1 hour", "1 day", "1 hour every 5 minutes"
ALL, DATES = "All", "Dates"
CHOICES: dict[str, timedelta | None] = {
    "Last hour": timedelta(hours=1),
    "24 hours": timedelta(hours=24),
    "7 days": timedelta(days=7),
    "30 days": timedelta(days=30),
    ALL: None,
    DATES: None,
}
DEFAULT = "24 hours"

_DAY = timedelta(days=1)
_MOST_STEPS = 150  # more bars cannot be distinguished
_LENGTHS = {MINUTES: timedelta(minutes=1), HOURS: timedelta(hours=1), DAYS: _DAY}
_LONGEST = {MINUTES: 2 * _DAY, HOURS: 62 * _DAY}  # of a period made of such windows
_STEPS = tuple(
    timedelta(minutes=minutes) for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 10080)
)


@dataclass(frozen=True)
class Period:
    """From `start` (included) to `end` (excluded), in UTC, both on bounds of its windows.

    Args:
        start: when it begins.
        end: when it is over.
        kind: of the windows of gold.traffic that it is made of.
        zone: that its days go by (IANA).
    """

    start: datetime
    end: datetime
    kind: str = MINUTES
    zone: str = "UTC"

    @property
    def length(self) -> timedelta:
        """How long it is."""
        return self.end - self.start

    @property
    def step(self) -> timedelta:
        """The shortest step that cuts the period into few enough to be seen."""
        for step in _STEPS:
            if step >= _LENGTHS[self.kind] and self.length / step <= _MOST_STEPS:
                return step
        return _STEPS[-1]

    @property
    def before(self) -> "Period":
        """The same stretch on the day before; of more than a day, as many days before as it has."""
        shift = max(_DAY, -(-self.length // _DAY) * _DAY)
        return Period(self.start - shift, self.end - shift, self.kind, self.zone)

    @property
    def days(self) -> tuple[date, date]:
        """The first and the last day that it reaches into, in its zone."""
        zone = ZoneInfo(self.zone)
        last = self.end - timedelta(microseconds=1)
        return self.start.astimezone(zone).date(), max(self.start, last).astimezone(zone).date()

    @property
    def whole_days(self) -> "Period":
        """All of the days that it reaches into."""
        first, last = self.days
        start, end = midnight(first, self.zone), midnight(last + _DAY, self.zone)
        return Period(start, end, self.kind, self.zone)

    def last(self, length: timedelta) -> "Period":
        """Its last part."""
        start = self.start if length >= self.length else self.end - length
        return Period(start, self.end, self.kind, self.zone)


def chosen_period(
    choice: str, first: datetime, last: datetime, zone: str = "UTC", dates: tuple[date, ...] = ()
) -> Period:
    """The period of a choice, counted back from the latest event rather than from the clock.

    Args:
        choice: one of `CHOICES`.
        first: start of the earliest minute with data.
        last: end of the latest minute with data.
        zone: that days go by.
        dates: first and last day, both included, of the choice `Dates`.
    """
    length = CHOICES[choice]
    if choice == DATES and dates:
        start, end = midnight(dates[0], zone), midnight(dates[-1] + _DAY, zone)
    else:
        start, end = (first if length is None else max(first, last - length)), last
    return _on_bounds(start, end, zone)


def midnight(day: date, zone: str) -> datetime:
    """When a day of a zone begins, in UTC."""
    return datetime.combine(day, time(), ZoneInfo(zone)).astimezone(timezone.utc)


def step_words(step: timedelta) -> str:
    """A step as it reads after "per": `minute`, `5 minutes`, `hour`, `day`."""
    minutes = int(step.total_seconds()) // 60
    for size, word in ((1440, "day"), (60, "hour"), (1, "minute")):
        if minutes % size == 0:
            count = minutes // size
            return word if count == 1 else f"{count} {word}s"
    raise ValueError(f"a step is whole minutes, not {step}")


def _on_bounds(start: datetime, end: datetime, zone: str) -> Period:
    """Let a long period begin and end with the windows it is made of."""
    kind = next((kind for kind, longest in _LONGEST.items() if end - start <= longest), DAYS)
    if kind == HOURS:
        hour = {"minute": 0, "second": 0, "microsecond": 0}
        start, over = start.replace(**hour), end.replace(**hour)
        end = over if over == end else over + _LENGTHS[HOURS]
    elif kind == DAYS:
        ends_on = (end - timedelta(microseconds=1)).astimezone(ZoneInfo(zone)).date()
        start = midnight(start.astimezone(ZoneInfo(zone)).date(), zone)
        end = midnight(ends_on + _DAY, zone)
    return Period(start, end, kind, zone)
