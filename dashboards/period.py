"""The time range of a page, in event time, with its windows and the time steps of its charts."""

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
_LONGEST = {MINUTES: 2 * _DAY, HOURS: 62 * _DAY}  # longest period that uses these windows
_STEPS = tuple(
    timedelta(minutes=minutes) for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 10080)
)


@dataclass(frozen=True)
class Period:
    """A time range from `start` (included) to `end` (excluded), in UTC, aligned to its windows.

    Args:
        start: the start.
        end: the end.
        kind: kind of the windows of gold.traffic that cover the period.
        zone: time zone of its days (IANA).
    """

    start: datetime
    end: datetime
    kind: str = MINUTES
    zone: str = "UTC"

    @property
    def length(self) -> timedelta:
        """The length of the period."""
        return self.end - self.start

    @property
    def step(self) -> timedelta:
        """The shortest time step that gives at most 150 bars."""
        for step in _STEPS:
            if step >= _LENGTHS[self.kind] and self.length / step <= _MOST_STEPS:
                return step
        return _STEPS[-1]

    @property
    def before(self) -> "Period":
        """The same period one day before; a longer period is shifted by its length in whole days.

        Of windows of days, which may have 23 hours, the same number of days.
        """
        if self.kind == DAYS:
            first, last = self.days
            start = midnight(first - (last + _DAY - first), self.zone)
            return Period(start, midnight(first, self.zone), DAYS, self.zone)
        shift = max(_DAY, -(-self.length // _DAY) * _DAY)
        return Period(self.start - shift, self.end - shift, self.kind, self.zone)

    @property
    def days(self) -> tuple[date, date]:
        """The first and the last day that the period overlaps, in its time zone."""
        zone = ZoneInfo(self.zone)
        last = self.end - timedelta(microseconds=1)
        return self.start.astimezone(zone).date(), max(self.start, last).astimezone(zone).date()

    @property
    def whole_days(self) -> "Period":
        """The period extended to whole days."""
        first, last = self.days
        start, end = midnight(first, self.zone), midnight(last + _DAY, self.zone)
        return Period(start, end, self.kind, self.zone)

    def last(self, length: timedelta) -> "Period":
        """The last part of the period, of at most this length."""
        start = self.start if length >= self.length else self.end - length
        return Period(start, self.end, self.kind, self.zone)


def chosen_period(
    choice: str, first: datetime, last: datetime, zone: str = "UTC", dates: tuple[date, ...] = ()
) -> Period:
    """The period for a choice of the viewer. It ends at the latest event, not at the current time.

    Args:
        choice: one of `CHOICES`.
        first: start of the earliest minute with data.
        last: end of the latest minute with data.
        zone: time zone of the days (IANA).
        dates: first and last day, both included, for the choice `Dates`.
    """
    length = CHOICES[choice]
    if choice == DATES and dates:
        start, end = midnight(dates[0], zone), midnight(dates[-1] + _DAY, zone)
    else:
        start, end = (first if length is None else max(first, last - length)), last
    return _on_bounds(start, end, zone)


def midnight(day: date, zone: str) -> datetime:
    """The start of a day in a time zone, as UTC."""
    return datetime.combine(day, time(), ZoneInfo(zone)).astimezone(timezone.utc)


def step_words(step: timedelta) -> str:
    """A time step in words, as used after "per": `minute`, `5 minutes`, `hour`, `day`."""
    minutes = int(step.total_seconds()) // 60
    for size, word in ((1440, "day"), (60, "hour"), (1, "minute")):
        if minutes % size == 0:
            count = minutes // size
            return word if count == 1 else f"{count} {word}s"
    raise ValueError(f"a step is whole minutes, not {step}")


def _on_bounds(start: datetime, end: datetime, zone: str) -> Period:
    """Choose the kind of windows by the length, and extend a long period to whole windows."""
    kind = next((kind for kind, longest in _LONGEST.items() if end - start <= longest), DAYS)
    if kind == HOURS and (start.minute or end.minute) and _are_midnights(start, end, zone=zone):
        kind = DAYS  # of a zone where midnight is on a half hour
    if kind == HOURS:
        hour = {"minute": 0, "second": 0, "microsecond": 0}
        start, over = start.replace(**hour), end.replace(**hour)
        end = over if over == end else over + _LENGTHS[HOURS]
    elif kind == DAYS:
        ends_on = (end - timedelta(microseconds=1)).astimezone(ZoneInfo(zone)).date()
        start = midnight(start.astimezone(ZoneInfo(zone)).date(), zone)
        end = midnight(ends_on + _DAY, zone)
    return Period(start, end, kind, zone)


def _are_midnights(*times: datetime, zone: str) -> bool:
    return all(at == midnight(at.astimezone(ZoneInfo(zone)).date(), zone) for at in times)
