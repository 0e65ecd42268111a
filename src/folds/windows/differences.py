"""Differences: what visitors' new minutes change in the windows that they lie in."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from folds.windows.time_windows import Span, Windows

ADDED = ("events", "page_views", "sessions", "impressions", "clicks", "searches", "conversions", "value")
"""What adds up over minutes; distinct visitors do not."""
_NONE = Decimal(0)
_EVENTS = 0  # index in ADDED
Channel = str | None


class Minute(NamedTuple):
    """A row of gold.visitor_minutes.

    Args:
        minute: its start, in microseconds.
        channel: of the session; None for events of no session.
        is_new: not in the windows yet.
        added: of `ADDED`, in that order.
    """

    minute: int
    channel: Channel
    is_new: bool
    added: Sequence[int | Decimal]


class Cell(NamedTuple):
    """One window of one channel; channel None is all of them."""

    kind: str
    span: Span
    channel: Channel


Differences = dict[Cell, list[int | Decimal]]
"""By cell, distinct visitors and what `ADDED` names, as differences; several of one cell add up."""


def window_differences(by_visitor: Mapping[str, Sequence[Minute]], windows: Iterable[Windows]) -> Differences:
    """What new minutes change.

    A visitor is one more in a cell where the new minutes are the first with events, and one less where they
    take the last events away. So each visitor is counted once, however minutes are put together.

    Args:
        by_visitor: of visitors with new minutes, all that share a window with a new one.
        windows: of all kinds.
    """
    found: Differences = defaultdict(_nothing)
    sums = _sum_new(minute for theirs in by_visitor.values() for minute in theirs)
    for kind in windows:
        for (minute, channel), added in sums.items():
            for span in kind.spans_of(kind.bucket_of(minute)):
                for each in _channels(channel):
                    _add(found[Cell(kind.kind, span, each)], added)
        for theirs in by_visitor.values():
            for cell, change in _visitor_changes(theirs, kind):
                found[cell][0] += change
    return found


def _nothing() -> list[int | Decimal]:
    return [0] * len(ADDED) + [_NONE]


def _channels(channel: Channel) -> tuple[Channel, ...]:
    return (None,) if channel is None else (None, channel)


def _sum_new(minutes: Iterable[Minute]) -> dict[tuple[int, Channel], list[int | Decimal]]:
    """Sums of new minutes over visitors, by minute and channel."""
    sums: dict[tuple[int, Channel], list[int | Decimal]] = defaultdict(_nothing)
    for row in minutes:
        if row.is_new:
            _add(sums[row.minute, row.channel], (0, *row.added))
    return sums


def _add(sums: list[int | Decimal], added: Iterable[int | Decimal]) -> None:
    for place, amount in enumerate(added):
        sums[place] += amount


def _visitor_changes(minutes: Sequence[Minute], kind: Windows) -> Iterable[tuple[Cell, int]]:
    """Where one visitor is in a cell for the first time, or no longer: 1 or -1."""
    events: dict[tuple[Span, Channel], list[int]] = defaultdict(lambda: [0, 0, 0])  # before, after, is new
    for (bucket, channel), counted in _by_bucket(minutes, kind).items():
        for span in kind.spans_of(bucket):
            _add_counts(events[span, channel], counted)
    for (span, channel), (before, after, is_new) in events.items():
        if is_new and (before > 0) != (after > 0):
            yield Cell(kind.kind, span, channel), 1 if after > 0 else -1


def _by_bucket(minutes: Sequence[Minute], kind: Windows) -> dict[tuple[int, Channel], list[int]]:
    buckets: dict[tuple[int, Channel], list[int]] = defaultdict(lambda: [0, 0, 0])
    for minute, channel, is_new, added in minutes:
        bucket, events = kind.bucket_of(minute), int(added[_EVENTS])
        counted = (0 if is_new else events, events, is_new)
        for each in _channels(channel):
            _add_counts(buckets[bucket, each], counted)
    return buckets


def _add_counts(counts: list[int], more: Sequence[int]) -> None:
    counts[0] += more[0]
    counts[1] += more[1]
    counts[2] |= more[2]
