"""Time ranges for pruning files: few ranges that cover all times of interest."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import reduce
from itertools import pairwise
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as F

from lakehouse.timestamps import FIRST, from_micros, span_micros, to_micros

HOUR = timedelta(hours=1)
_MAX_RANGES = 24  # each is a condition that is evaluated for every file
Interval = tuple[datetime, datetime]


def merge_buckets(
    slots: Iterable[datetime], margin: timedelta, length: timedelta = HOUR, most: int = _MAX_RANGES
) -> list[Interval]:
    """Merge time buckets, widened on both sides, into few ranges.

    Late events get ranges of their own, so that files between them and the others are pruned. If there are
    too many ranges, those with the smallest gaps are merged.

    Args:
        slots: starts of the buckets.
        margin: added on both sides of each bucket.
        length: length of a bucket.
        most: maximum number of ranges.
    """
    around, long = span_micros(margin), span_micros(length)
    starts = [to_micros(slot) for slot in slots]
    joined = merge_spans(
        ((max(start - around, to_micros(FIRST)), start + long + around) for start in starts), most
    )
    return [(from_micros(low), from_micros(high)) for low, high in joined]


def merge_spans(spans: Iterable[tuple[int, int]], most: int = _MAX_RANGES) -> list[tuple[int, int]]:
    """Merge spans that overlap, then those with the smallest gaps, until at most `most` are left.

    Args:
        spans: start and end, in microseconds.
        most: maximum number of spans.
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


def time_buckets(time: Column, length: timedelta) -> Column:
    """An aggregate: the distinct starts of the buckets that contain a time.

    Args:
        time: a time.
        length: length of a bucket, in whole seconds.
    """
    seconds = F.lit(length // timedelta(seconds=1))
    found = F.collect_set(F.floor(F.unix_seconds(time) / seconds))
    return F.transform(found, lambda slot: F.timestamp_seconds(slot * seconds))


def in_ranges(column: str, within: Sequence[Interval]) -> Column:
    """A condition: a time lies in one of the ranges."""
    return overlapping(column, column, within)


def overlapping(start: str, end: str, within: Sequence[Interval]) -> Column:
    """A condition: the span from start to end overlaps one of the ranges."""
    # the latest range first: most rows match it, and the other conditions are then skipped
    latest_first = reversed(within)
    either = ((F.col(start) <= F.lit(high)) & (F.col(end) >= F.lit(low)) for low, high in latest_first)
    return reduce(or_, either, F.lit(False))
