"""Spans: the whole minutes of a visitor's time that an event may change.

Counted clicks, and the impressions before them, depend only on the stretch of time around them: sessions and
exposures that are less than the session gap apart. The exposures of server events are in no session. So an
event changes only the minutes of the stretch around it, except for view-through: see
`folds.visitors.view_spans`.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

MINUTE = 60_000_000  # microseconds

Span = tuple[int, int]
"""Start, included, and end, excluded, in microseconds; both are whole minutes."""


def minute_of(at: int) -> int:
    """Start of the minute that contains a time."""
    return at - at % MINUTE


def stretches_of(bounds: Iterable[Span], gap: int) -> list[Span]:
    """Join what is less than the session gap apart.

    Args:
        bounds: start and end, both included, of sessions and exposures of one visitor, in any order.
        gap: the session gap, at least two minutes.

    Returns:
        Start and end of each stretch, both included, in order.
    """
    found: list[Span] = []
    for low, high in sorted(bounds):
        if found and low - found[-1][1] < gap:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return found


def spans_of(times: Iterable[int], stretches: Sequence[Span]) -> list[Span]:
    """Compute the spans of one visitor that events at some times may change.

    Args:
        times: microseconds.
        stretches: start and end, both included, of at least the visitor's stretches that share a minute with
            one of the times, in order. No two stretches share a minute.

    Returns:
        Spans in order; they do not overlap.
    """
    found: list[Span] = []
    ends = [end for _, end in stretches]
    for minute in sorted({minute_of(at) for at in times}):
        if found and minute < found[-1][1]:
            continue
        place = bisect_left(ends, minute)
        low, high = minute, minute + MINUTE
        if place < len(stretches) and stretches[place][0] < high:
            start, end = stretches[place]
            low, high = min(low, minute_of(start)), max(high, minute_of(end) + MINUTE)
        found.append((low, high))
    return found


def is_within(at: int, spans: Sequence[Span]) -> bool:
    """Whether a time is in one of the spans, given in order."""
    place = bisect_left(spans, (at + 1,)) - 1
    return place >= 0 and at < spans[place][1]


def spans_of_all(
    times: Mapping[str, Iterable[int]], stretches: Mapping[str, Sequence[Span]]
) -> dict[str, list[Span]]:
    """Compute `spans_of` for visitors by id; visitors without stretches may be missing from `stretches`."""
    return {visitor: spans_of(theirs, stretches.get(visitor, ())) for visitor, theirs in times.items()}
