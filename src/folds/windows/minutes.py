"""Minutes of a visitor as windows are computed from them, and windows that are given with them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from folds.windows.time_windows import Span, Windows

_NO_WINDOW = -1


class Place(NamedTuple):
    """A window by number of events that contains a minute."""

    window_kind: str
    window_start: int
    window_end: int


class Minute(NamedTuple):
    """A row of gold.visitor_minutes.

    Args:
        minute: its start, in microseconds.
        channel: of the session; None for events outside sessions.
        is_new: not included in the windows yet. For other minutes only events are given.
        by_events: changed by events, not by a removed bot or an exchange rate.
        places: windows by number of events that contain it.
    """

    minute: int
    channel: str | None
    is_new: bool
    by_events: bool
    places: Sequence[Place] | None
    events: int
    page_views: int
    sessions: int
    impressions: int
    clicks: int
    searches: int
    conversions: int
    value: Decimal


@dataclass(frozen=True, slots=True)
class PlacedWindows:
    """Windows of one kind that some minutes are in.

    Args:
        kind: its name in gold.traffic.
        starts: start of the window, by minute.
        ends: end of the window, by start.
    """

    kind: str
    starts: Mapping[int, int]
    ends: Mapping[int, int]
    count: int = 1

    def bucket_of(self, minute: int) -> int:
        """Start of the window that contains a minute."""
        return self.starts.get(minute, _NO_WINDOW)

    def spans_of(self, bucket: int) -> tuple[Span, ...]:
        """The window itself; empty for minutes in none."""
        return ((bucket, self.ends[bucket]),) if bucket in self.ends else ()


def placed_windows(minutes: Iterable[Minute]) -> list[Windows]:
    """The windows by number of events that contain some minutes."""
    places = {(row.minute, place) for row in minutes for place in row.places or ()}
    starts: dict[str, dict[int, int]] = defaultdict(dict)
    ends: dict[str, dict[int, int]] = defaultdict(dict)
    for minute, (kind, start, end) in places:
        starts[kind][minute] = start
        ends[kind][start] = end
    return [PlacedWindows(kind, starts[kind], ends[kind]) for kind in starts]
