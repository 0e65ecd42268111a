"""Spans: the whole minutes of a visitor's time that an event may change.

Hardly anything of a session depends on what is outside it: which clicks count, what was seen before a click,
its channel. So an event changes nothing beyond the minutes of the session around it, but for what visits are
view-throughs of: see `folds.visitors.view_spans`.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

MINUTE = 60_000_000  # microseconds

Span = tuple[int, int]
"""Start, included, and end, excluded, in microseconds; both are whole minutes."""


def minute_of(at: int) -> int:
    """Start of the minute that a time lies in."""
    return at - at % MINUTE


def spans_of(times: Iterable[int], sessions: Sequence[Span]) -> list[Span]:
    """What events at some times may change of one visitor.

    Args:
        times: microseconds.
        sessions: start and end, both included, of the visitor's sessions that share a minute with one of the
            times at least, in order. No two of them share a minute.

    Returns:
        Spans in order, none of which meets another.
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
    """Whether a time lies in one of some spans, given in order."""
    place = bisect_left(spans, (at + 1,)) - 1
    return place >= 0 and at < spans[place][1]


def spans_of_all(
    times: Mapping[str, Iterable[int]], sessions: Mapping[str, Sequence[Span]]
) -> dict[str, list[Span]]:
    """The same for visitors by id; a visitor without sessions may be left out of them."""
    return {visitor: spans_of(theirs, sessions.get(visitor, ())) for visitor, theirs in times.items()}
