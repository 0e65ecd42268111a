"""Count windows: consecutive whole minutes that together contain a given number of events.

A window ends with the minute of its last event, once the watermark has passed that minute. Late events change
the sums of a window, but not where it ends.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from folds.windows.time_windows import Span

_MINUTE = 60_000_000
_NO_WINDOW = -1


@dataclass(frozen=True, slots=True)
class CountWindows:
    """Closed windows of one kind.

    Args:
        kind: its name in gold.traffic.
        bounds: the start of the first window, then the end of each, which is the start of the next.
        has_earlier: minutes before the first window belong to a window that starts in 1970.
    """

    kind: str
    bounds: tuple[int, ...]
    has_earlier: bool = False
    count: int = 1

    def bucket_of(self, minute: int) -> int:
        """Start of the window that contains a minute."""
        place = bisect_right(self.bounds, minute)
        if place == len(self.bounds) or (place == 0 and not self.has_earlier):
            return _NO_WINDOW
        return self.bounds[place - 1] if place else 0

    def spans_of(self, bucket: int) -> tuple[Span, ...]:
        """The window itself; empty for minutes outside all closed windows."""
        if bucket == _NO_WINDOW:
            return ()
        return ((bucket, self.bounds[bisect_right(self.bounds, bucket)]),)


def close_windows(
    events_by_minute: Iterable[tuple[int, int]], size: int, last_end: int | None, watermark: int
) -> tuple[int, ...]:
    """Compute the bounds of the windows that close.

    Args:
        events_by_minute: minutes from the last end on, with their numbers of events.
        size: minimum number of events in a window.
        last_end: end of the last closed window; None if there is none: then the first window starts with an
            event.
        watermark: how far results are complete, in microseconds.

    Returns:
        The start of the first new window and the end of each; empty if none closes.
    """
    start, events = last_end, 0
    bounds: list[int] = []
    for minute, count in sorted(events_by_minute):
        end = minute + _MINUTE
        if end > watermark:
            break
        start = minute if start is None else start
        events += count
        if events >= size:
            bounds = bounds or [start]
            bounds.append(end)
            events = 0
    return tuple(bounds)
