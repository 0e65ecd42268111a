"""Differences: how visitors' new minutes change the sums of their windows."""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from folds.windows.minutes import Minute
from folds.windows.revisions import Sums, WindowKey
from folds.windows.time_windows import Span, Windows

_VISITORS = Sums._fields.index("visitors")
_Sums = list[int | Decimal]
_Channel = str | None


def window_differences(
    by_visitor: Mapping[str, Sequence[Minute]], windows: Iterable[Windows]
) -> dict[WindowKey, Sums]:
    """Compute the differences caused by new minutes.

    A window gains a visitor if the new minutes bring the visitor's first events in it. It loses the visitor
    if they remove the last ones. So each visitor is counted once per window, however minutes are batched.

    Args:
        by_visitor: for visitors with new minutes, all minutes that share a window with a new one.
        windows: of all kinds.
    """
    found: dict[WindowKey, _Sums] = defaultdict(_nothing)
    added = _sum_new(minute for theirs in by_visitor.values() for minute in theirs)
    for kind in windows:
        for channel, by_minute in added.items():
            for span, sums in _sum_by_window(by_minute, kind).items():
                _add(found[WindowKey(kind.kind, *span, channel)], sums)
        for theirs in by_visitor.values():
            for (span, channel), change in _visitor_changes(theirs, kind):
                found[WindowKey(kind.kind, *span, channel)][_VISITORS] += change
    return {key: Sums._make(sums) for key, sums in found.items() if any(sums)}


def _nothing() -> _Sums:
    return [0, 0, 0, 0, 0, 0, 0, 0, Decimal(0), 0, 0]


def _channels(channel: _Channel) -> tuple[_Channel, ...]:
    return (None,) if channel is None else (None, channel)


def _sum_new(minutes: Iterable[Minute]) -> dict[_Channel, dict[int, _Sums]]:
    """Sums of new minutes over visitors, by channel and minute."""
    sums: dict[_Channel, dict[int, _Sums]] = defaultdict(lambda: defaultdict(_nothing))
    for row in minutes:
        if row.is_new:
            by_events = (1, row.events) if row.by_events else (0, 0)
            added = (row.events, row.page_views, 0, *row[7:], *by_events)
            for channel in _channels(row.channel):
                _add(sums[channel][row.minute], added)
    return sums


def _sum_by_window(by_minute: Mapping[int, _Sums], kind: Windows) -> Mapping[Span, _Sums]:
    """Sum minutes by window; overlapping windows are computed as a rolling sum."""
    buckets: dict[int, _Sums] = defaultdict(_nothing)
    for minute, added in by_minute.items():
        _add(buckets[kind.bucket_of(minute)], added)
    if kind.count == 1:
        return {span: buckets[bucket] for bucket in buckets for span in kind.spans_of(bucket)}
    found: dict[Span, _Sums] = {}
    inside, sums = deque[int](), _nothing()
    coming = deque(sorted(buckets))
    for span in sorted({span for bucket in buckets for span in kind.spans_of(bucket)}):
        while inside and inside[0] < span[0]:
            _add(sums, (-amount for amount in buckets[inside.popleft()]))
        while coming and coming[0] < span[1]:
            inside.append(coming.popleft())
            _add(sums, buckets[inside[-1]])
        found[span] = list(sums)
    return found


def _add(sums: _Sums, added: Iterable[int | Decimal]) -> None:
    for place, amount in enumerate(added):
        sums[place] += amount


def _visitor_changes(minutes: Sequence[Minute], kind: Windows) -> Iterator[tuple[tuple[Span, _Channel], int]]:
    """Yield 1 for each window that a visitor enters, and -1 for each window that the visitor leaves."""
    changed = {kind.bucket_of(row.minute) for row in minutes if row.is_new}
    spans = {span for bucket in changed for span in kind.spans_of(bucket)}
    if not spans:
        return
    first, last = min(start for start, _ in spans), max(end for _, end in spans)
    events: dict[tuple[Span, _Channel], list[int]] = defaultdict(lambda: [0, 0])  # before, after
    inside = (row for row in minutes if first <= row.minute < last)
    for (bucket, channel), (before, after) in _by_bucket(inside, kind).items():
        for span in kind.spans_of(bucket):
            if span in spans:
                counts = events[span, channel]
                counts[0] += before
                counts[1] += after
    for key, (before, after) in events.items():
        if (before > 0) != (after > 0):
            yield key, 1 if after > 0 else -1


def _by_bucket(minutes: Iterable[Minute], kind: Windows) -> dict[tuple[int, _Channel], list[int]]:
    """Events before and after the new minutes, by bucket and channel."""
    buckets: dict[tuple[int, _Channel], list[int]] = defaultdict(lambda: [0, 0])
    for row in minutes:
        bucket = kind.bucket_of(row.minute)
        for channel in _channels(row.channel):
            counts = buckets[bucket, channel]
            counts[0] += 0 if row.is_new else row.events
            counts[1] += row.events
    return buckets
