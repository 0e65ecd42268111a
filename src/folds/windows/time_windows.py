"""Time windows: finds the windows that contain a minute. All times are microseconds since 1970."""

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from functools import lru_cache
from typing import Protocol
from zoneinfo import ZoneInfo

from lakehouse.timestamps import from_micros, to_micros

_MINUTE = 60_000_000
_QUARTER, _DAY = 15 * _MINUTE, 24 * 60 * _MINUTE

Span = tuple[int, int]
"""Start, included, and end, excluded."""


@dataclass(frozen=True, slots=True)
class TimeWindows:
    """All windows of one kind.

    Args:
        kind: its name in gold.traffic.
        size: length of a window; a multiple of the slide.
        slide: time between window starts; a whole number of minutes.
    """

    kind: str
    size: int
    slide: int

    @property
    def count(self) -> int:
        """Number of windows that contain a slide."""
        return self.size // self.slide

    def bucket_of(self, minute: int) -> int:
        """Start of the slide that contains a minute; all minutes of a slide are in the same windows."""
        return minute - minute % self.slide

    def spans_of(self, bucket: int) -> tuple[Span, ...]:
        """The windows that contain a slide, latest first."""
        starts = range(bucket, bucket - self.size, -self.slide)
        return tuple((start, start + self.size) for start in starts)


@dataclass(frozen=True, slots=True)
class DayWindows:
    """Days of a time zone.

    Args:
        zone: name of the time zone.
        kind: their name in gold.traffic.
    """

    zone: str
    kind: str
    count: int = 1

    def bucket_of(self, minute: int) -> int:
        """Start of the day that contains a minute."""
        return _day(minute - minute % _QUARTER, self.zone)[0]

    def spans_of(self, bucket: int) -> tuple[Span, ...]:
        """The day itself."""
        return (_day(bucket, self.zone),)


class Windows(Protocol):
    """All windows of one kind, as the folds use them."""

    @property
    def kind(self) -> str:
        """Its name in gold.traffic."""
        ...

    @property
    def count(self) -> int:
        """Maximum number of windows that contain a bucket."""
        ...

    def bucket_of(self, minute: int) -> int:
        """Start of the bucket that contains a minute; all minutes of a bucket are in the same windows."""
        ...

    def spans_of(self, bucket: int) -> tuple[Span, ...]:
        """The windows that contain a bucket, latest first."""
        ...


@lru_cache(maxsize=8192)
def _day(quarter: int, zone: str) -> Span:
    """The day that contains a quarter-hour; in all current time zones, days start at a quarter-hour."""
    day = from_micros(quarter).astimezone(ZoneInfo(zone)).date()
    start = to_micros(datetime.combine(day, time(), ZoneInfo(zone)))
    try:
        following = day + timedelta(days=1)
    except OverflowError:  # the last day of the calendar
        return start, start + _DAY
    return start, to_micros(datetime.combine(following, time(), ZoneInfo(zone)))
