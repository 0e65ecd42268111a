"""Stretches of time that leave out the files in between."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, timezone
from functools import reduce
from itertools import pairwise
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as F

from lakehouse.instants import as_utc

_HOUR = timedelta(hours=1)
_MOST = 24  # intervals: each is a condition that every file is held against
_FIRST = datetime.min.replace(tzinfo=timezone.utc)
Interval = tuple[datetime, datetime]


def intervals(hours: Iterable[datetime], margin: timedelta, most: int = _MOST) -> list[Interval]:
    """Hours, widened on both sides, in few intervals.

    Late events lie far from the others: apart from them, the files between need not be read. Where there
    would be too many intervals, the smallest gaps are read over.

    Args:
        hours: starts of hours.
        margin: by how much each is widened.
        most: intervals.
    """
    starts = sorted(map(as_utc, hours))
    spans = [(max(hour, _FIRST + margin) - margin, hour + _HOUR + margin) for hour in starts]
    gaps = sorted((after[0] - before[1] for before, after in pairwise(spans)), reverse=True)
    smallest = max([timedelta(0), *gaps[most - 1 : most]])
    joined = spans[:1]
    for low, high in spans[1:]:
        if low - joined[-1][1] > smallest:
            joined.append((low, high))
        else:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
    return joined


def hours_of(start: Column, end: Column | None = None) -> Column:
    """An aggregate: the hours that times lie in, or all from start to end, each once."""
    first, last = (F.date_trunc("hour", time) for time in (start, start if end is None else end))
    return F.array_distinct(F.flatten(F.collect_set(F.sequence(first, last, F.expr("INTERVAL 1 HOUR")))))


def covered(column: str, within: Sequence[Interval]) -> Column:
    """The condition that a time lies in one of some intervals."""
    return overlapping(column, column, within)


def overlapping(start: str, end: str, within: Sequence[Interval]) -> Column:
    """The condition that a stretch from start to end shares a moment with one of some intervals."""
    either = ((F.col(start) <= F.lit(high)) & (F.col(end) >= F.lit(low)) for low, high in within)
    return reduce(or_, either, F.lit(False))
