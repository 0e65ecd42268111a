"""Time ranges for pruning files: few ranges that cover all times of interest."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import reduce
from operator import or_

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import Column
from pyspark.sql import functions as F

from lakehouse.timestamps import FIRST, from_micros, span_micros, to_micros

HOUR = timedelta(hours=1)
_MAX_RANGES = 24  # each is a condition that is evaluated for every file
Interval = tuple[datetime, datetime]
Micros = NDArray[np.int64]


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
    bounds = np.array(list(spans), np.int64).reshape(-1, 2)
    if not len(bounds):
        return []
    bounds = bounds[np.argsort(bounds[:, 0])]
    lows, highs = bounds[:, 0], np.maximum.accumulate(bounds[:, 1])
    lows, highs = _where_apart(lows, highs, lows[1:] > highs[:-1])
    gaps = lows[1:].astype(np.float64) - highs[:-1]
    if len(gaps) >= most:
        lows, highs = _where_apart(lows, highs, gaps > np.sort(gaps)[-most])
    return list(zip(lows.tolist(), highs.tolist(), strict=True))


def _where_apart(lows: Micros, highs: Micros, is_apart: NDArray[np.bool_]) -> tuple[Micros, Micros]:
    """Merge consecutive spans, in order of time, unless they are apart."""
    return lows[np.append(True, is_apart)], highs[np.append(is_apart, True)]


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
