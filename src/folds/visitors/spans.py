"""Spans: the whole minutes of a visitor's time that an event may change.

Counted clicks, the impressions before them, and the channel of a session depend only on that session. So an
event changes only the minutes of the session around it, except for view-through: see
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


def spans_of(times: Iterable[int], sessions: Sequence[Span]) -> list[Span]:
    """Compute the spans of one visitor that events at some times may change.

    Args:
        times: microseconds.
        sessions: start and end, both included, of at least the visitor's sessions that share a minute with
            one of the times, in order. No two sessions share a minute.

    Returns:
        Spans in order; they do not overlap.
    """
    found: list[Span] = []
    ends = [end for _, end in sessions]
    for minute in sorted({minute_of(at) for at in times}):
        if found and minute < found[-1][1]:
            continue
        place = bisect_left(ends, minute)
        low, high = minute, minute + MINUTE
        if place < len(sessions) and sessions[place][0] < high:
            start, end = sessions[place]
            low, high = min(low, minute_of(start)), max(high, minute_of(end) + MINUTE)
        found.append((low, high))
    return found


def is_within(at: int, spans: Sequence[Span]) -> bool:
    """Whether a time is in one of the spans, given in order."""
    place = bisect_left(spans, (at + 1,)) - 1
    return place >= 0 and at < spans[place][1]


def spans_of_all(
    times: Mapping[str, Iterable[int]], sessions: Mapping[str, Sequence[Span]]
) -> dict[str, list[Span]]:
    """Compute `spans_of` for visitors by id; visitors without sessions may be missing from `sessions`."""
    return {visitor: spans_of(theirs, sessions.get(visitor, ())) for visitor, theirs in times.items()}
