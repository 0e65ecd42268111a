"""Time ranges for pruning files: few ranges that cover all times of interest."""

from collections.abc import Iterable, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import Column
from pyspark.sql import functions as F

_MAX_RANGES = 8  # each adds 15 ms to the planning of a query, by Delta's conditions on file statistics
Interval = tuple[datetime, datetime]
Micros = NDArray[np.int64]


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


def in_ranges(column: str, within: Sequence[Interval]) -> Column:
    """A condition: a time lies in one of the ranges."""
    return overlapping(column, column, within)


def overlapping(start: str, end: str, within: Sequence[Interval]) -> Column:
    """A condition: the span from start to end overlaps one of the ranges."""
    # the latest range first: most rows match it, and the other conditions are then skipped
    latest_first = reversed(within)
    either = (f"({start} <= {_literal(high)} AND {end} >= {_literal(low)})" for low, high in latest_first)
    return F.expr(" OR ".join(either) or "false")


def _literal(time: datetime) -> str:
    return f"TIMESTAMP'{time.isoformat(' ')}'"
