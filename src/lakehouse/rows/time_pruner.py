"""Conditions on times that prune files."""

from collections.abc import Iterable
from datetime import timedelta

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.rows.time_ranges import (
    Interval,
    in_ranges,
    merge_buckets,
    merge_spans,
    overlapping,
    time_buckets,
)
from lakehouse.timestamps import FIRST, LAST, from_micros, span_micros, to_micros

MINUTE = timedelta(minutes=1)
_FIRST, _LAST = to_micros(FIRST), to_micros(LAST)


class TimePruner:
    """Time ranges that contain all rows of interest.

    Args:
        spans: start and end of each, both included, in microseconds; in order, not overlapping.
    """

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        self._spans = [(max(low, _FIRST), min(high, _LAST)) for low, high in spans]
        self._lows = np.array([low for low, _ in self._spans], np.int64)
        self._highs = np.array([high for _, high in self._spans], np.int64)

    @classmethod
    def of_spans(cls, spans: Iterable[tuple[int, int]], margin: timedelta = timedelta(0)) -> "TimePruner":
        """Ranges around some spans.

        Args:
            spans: start and end, both included, in microseconds.
            margin: added on both sides of each span.
        """
        around = span_micros(margin)
        return cls(merge_spans((low - around, high + around) for low, high in spans))

    @classmethod
    def of_rows(cls, rows: DataFrame, time: str, margin: timedelta = MINUTE) -> "TimePruner":
        """Ranges around the times of some rows; runs a Spark job."""
        slots = rows.agg(time_buckets(F.col(time), MINUTE)).collect()[0][0]
        return cls([(to_micros(low), to_micros(high)) for low, high in merge_buckets(slots, margin, MINUTE)])

    def contains(self, time: str) -> Column:
        """A condition: a time may be inside one of the ranges."""
        return in_ranges(time, self._intervals())

    def overlaps(self, start: str, end: str) -> Column:
        """A condition: the span from start to end, both included, may overlap one of the ranges."""
        return overlapping(start, end, self._intervals())

    def mask(self, start: pa.ChunkedArray, end: pa.ChunkedArray) -> pa.Array:
        """Whether each span, in microseconds, overlaps one of the ranges; false for null."""
        is_known = start.is_valid().to_numpy() & end.is_valid().to_numpy()
        first, last = (times.fill_null(0).to_numpy() for times in (start, end))
        return pa.array(is_known & self._meets(first, last))

    def meets(self, low: int, high: int) -> bool:
        """Whether a span, in microseconds, overlaps one of the ranges."""
        return bool(self._meets(np.array([low]), np.array([high]))[0])

    def _meets(self, first: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.bool_]:
        if not self._spans:
            return np.zeros(len(first), np.bool_)
        place = np.searchsorted(self._highs, first)
        lows = self._lows[np.minimum(place, len(self._spans) - 1)]
        found: NDArray[np.bool_] = (place < len(self._spans)) & (lows <= last)
        return found

    def _intervals(self) -> list[Interval]:
        return [(from_micros(low), from_micros(high)) for low, high in self._spans]
