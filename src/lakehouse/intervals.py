"""Stretches of time that leave out the files in between."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, timezone
from functools import reduce
from itertools import pairwise
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as F

from lakehouse.instants import as_utc

HOUR = timedelta(hours=1)
_MOST = 24  # intervals: each is a condition that every file is held against
_FIRST = datetime.min.replace(tzinfo=timezone.utc)
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
    starts = sorted(map(as_utc, slots))
    spans = [(max(start, _FIRST + margin) - margin, start + length + margin) for start in starts]
    gaps = sorted((after[0] - before[1] for before, after in pairwise(spans)), reverse=True)
    smallest = max([timedelta(0), *gaps[most - 1 : most]])
    joined = spans[:1]
    for low, high in spans[1:]:
        if low - joined[-1][1] > smallest:
            joined.append((low, high))
        else:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
    return joined


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
