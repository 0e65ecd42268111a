"""Stretches of time that leave out the files in between."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, timezone
from functools import reduce
from itertools import pairwise
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as F

from lakehouse.timestamps import from_micros, to_micros

HOUR = timedelta(hours=1)
_MOST = 24  # intervals: each is a condition that every file is held against
_MICROSECOND = timedelta(microseconds=1)
_FIRST = to_micros(datetime.min.replace(tzinfo=timezone.utc))
Interval = tuple[datetime, datetime]


def intervals(
    slots: Iterable[datetime], margin: timedelta, length: timedelta = HOUR, most: int = _MOST
) -> list[Interval]:
    """Slots of time, widened on both sides, in few intervals.

    Late events lie far from the others: apart from them, the files between need not be read. Where there
    would be too many intervals, the smallest gaps are read over.

    Args:
        slots: their starts.
        margin: by how much each is widened.
        length: of a slot.
        most: intervals.
    """
    around, long = margin // _MICROSECOND, length // _MICROSECOND
    starts = [to_micros(slot) for slot in slots]
    joined = join_spans(((max(start - around, _FIRST), start + long + around) for start in starts), most)
    return [(from_micros(low), from_micros(high)) for low, high in joined]


def join_spans(spans: Iterable[tuple[int, int]], most: int = _MOST) -> list[tuple[int, int]]:
    """Spans of time in few intervals: those that meet as one, and the smallest gaps read over.

    Args:
        spans: start and end, in microseconds.
        most: intervals.
    """
    joined: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    gaps = sorted((after[0] - before[1] for before, after in pairwise(joined)), reverse=True)
    smallest = gaps[most - 1] if len(gaps) >= most else 0
    found = joined[:1]
    for low, high in joined[1:]:
        if low - found[-1][1] > smallest:
            found.append((low, high))
        else:
            found[-1] = (found[-1][0], high)
    return found


def slots_of(start: Column, end: Column | None = None, length: timedelta = HOUR) -> Column:
    """An aggregate: the starts of the slots that times lie in, or of all from start to end, each once.

    Args:
        start: a time.
        end: a later one.
        length: of a slot; whole seconds.
    """
    seconds = F.lit(length // timedelta(seconds=1))
    first, last = (F.floor(F.unix_seconds(time) / seconds) for time in (start, start if end is None else end))
    found = F.collect_set(first) if end is None else F.flatten(F.collect_set(F.sequence(first, last)))
    return F.transform(F.array_distinct(found), lambda slot: F.timestamp_seconds(slot * seconds))


def covered(column: str, within: Sequence[Interval]) -> Column:
    """The condition that a time lies in one of some intervals."""
    return overlapping(column, column, within)


def overlapping(start: str, end: str, within: Sequence[Interval]) -> Column:
    """The condition that a stretch from start to end shares a moment with one of some intervals."""
    # the latest first: there most rows are, and the rest is not asked
    latest_first = reversed(within)
    either = ((F.col(start) <= F.lit(high)) & (F.col(end) >= F.lit(low)) for low, high in latest_first)
    return reduce(or_, either, F.lit(False))
