"""Differences: how visitors' new minutes change the sums of their windows."""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from folds.windows.time_windows import Span, Windows

ADDED = ("events", "page_views", "sessions", "impressions", "clicks", "searches", "conversions", "value")
"""Measures that are additive over minutes; distinct visitors are not."""
_NONE = Decimal(0)
_EVENTS = 0  # index in ADDED
Channel = str | None


class Minute(NamedTuple):
    """A row of gold.visitor_minutes.

    Args:
        minute: its start, in microseconds.
        channel: of the session; None for events outside sessions.
        is_new: not included in the windows yet.
        by_events: changed by events, not by a removed bot or an exchange rate.
        added: the measures of `ADDED`, in that order.
    """

    minute: int
    channel: Channel
    is_new: bool
    by_events: bool
    added: Sequence[int | Decimal]


class Cell(NamedTuple):
    """One window of one channel; channel None means all channels."""

    kind: str
    span: Span
    channel: Channel


Sums = list[int | Decimal]
"""Distinct visitors, the measures of `ADDED`, minutes that events changed, and events that these add."""

Differences = dict[Cell, Sums]
"""Differences of the sums by cell; several differences of one cell add up."""


def window_differences(by_visitor: Mapping[str, Sequence[Minute]], windows: Iterable[Windows]) -> Differences:
    """Compute the differences caused by new minutes.

    A cell gains a visitor if the new minutes bring the visitor's first events in it. It loses the visitor if
    they remove the last ones. So each visitor is counted once per cell, however minutes are batched.

    Args:
        by_visitor: for visitors with new minutes, all minutes that share a window with a new one.
        windows: of all kinds.
    """
    found: Differences = defaultdict(_nothing)
    sums = _sum_new(minute for theirs in by_visitor.values() for minute in theirs)
    for kind in windows:
        for channel, by_minute in sums.items():
            for span, added in _sum_by_window(by_minute, kind).items():
                _add(found[Cell(kind.kind, span, channel)], added)
        for theirs in by_visitor.values():
            for cell, change in _visitor_changes(theirs, kind):
                found[cell][0] += change
    return found


def _nothing() -> Sums:
    return [*[0] * len(ADDED), _NONE, 0, 0]


def _channels(channel: Channel) -> tuple[Channel, ...]:
    return (None,) if channel is None else (None, channel)


def _sum_new(minutes: Iterable[Minute]) -> dict[Channel, dict[int, Sums]]:
    """Sums of new minutes over visitors, by channel and minute."""
    sums: dict[Channel, dict[int, Sums]] = defaultdict(lambda: defaultdict(_nothing))
    for row in minutes:
        if row.is_new:
            for channel in _channels(row.channel):
                new_events = row.added[_EVENTS] if row.by_events else 0
                _add(sums[channel][row.minute], (0, *row.added, row.by_events, new_events))
    return sums


def _sum_by_window(by_minute: Mapping[int, Sums], kind: Windows) -> Mapping[Span, Sums]:
    """Sum minutes by window; overlapping windows are computed as a rolling sum."""
    buckets: dict[int, Sums] = defaultdict(_nothing)
    for minute, added in by_minute.items():
        _add(buckets[kind.bucket_of(minute)], added)
    if kind.count == 1:
        return {span: buckets[bucket] for bucket in buckets for span in kind.spans_of(bucket)}
    found: dict[Span, Sums] = {}
    inside, sums = deque[int](), _nothing()
    coming = deque(sorted(buckets))
    for span in sorted({span for bucket in buckets for span in kind.spans_of(bucket)}):
        while inside and inside[0] < span[0]:
            _subtract(sums, buckets[inside.popleft()])
        while coming and coming[0] < span[1]:
            inside.append(coming.popleft())
            _add(sums, buckets[inside[-1]])
        found[span] = list(sums)
    return found


def _add(sums: Sums, added: Iterable[int | Decimal]) -> None:
    for place, amount in enumerate(added):
        sums[place] += amount


def _subtract(sums: Sums, taken: Iterable[int | Decimal]) -> None:
    for place, amount in enumerate(taken):
        sums[place] -= amount


def _visitor_changes(minutes: Sequence[Minute], kind: Windows) -> Iterable[tuple[Cell, int]]:
    """Yield 1 for each cell that a visitor enters, and -1 for each cell that the visitor leaves."""
    events: dict[tuple[Span, Channel], list[int]] = defaultdict(lambda: [0, 0, 0])  # before, after, is new
    for (bucket, channel), counted in _by_bucket(minutes, kind).items():
        for span in kind.spans_of(bucket):
            _add_counts(events[span, channel], counted)
    for (span, channel), (before, after, is_new) in events.items():
        if is_new and (before > 0) != (after > 0):
            yield Cell(kind.kind, span, channel), 1 if after > 0 else -1


def _by_bucket(minutes: Sequence[Minute], kind: Windows) -> dict[tuple[int, Channel], list[int]]:
    buckets: dict[tuple[int, Channel], list[int]] = defaultdict(lambda: [0, 0, 0])
    for minute, channel, is_new, _, added in minutes:
        bucket, events = kind.bucket_of(minute), int(added[_EVENTS])
        counted = (0 if is_new else events, events, is_new)
        for each in _channels(channel):
            _add_counts(buckets[bucket, each], counted)
    return buckets


def _add_counts(counts: list[int], more: Sequence[int]) -> None:
    counts[0] += more[0]
    counts[1] += more[1]
    counts[2] |= more[2]
