"""Conditions on times that prune files."""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from pyspark.sql import Column
from pyspark.sql import functions as F

from lakehouse.rows.time_ranges import Interval, in_ranges, merge_spans, overlapping
from lakehouse.timestamps import FIRST, LAST, from_micros, span_micros, to_micros

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
_FIRST, _LAST = to_micros(FIRST), to_micros(LAST)


class TimePruner:
    """Time ranges that contain all rows of interest.

    Args:
        spans: start and end of each, both included, in microseconds; in order, not overlapping. Times that
            no datetime can hold are clipped to the first and the last that one can.
    """

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        self._spans = [(_clip(low), _clip(high)) for low, high in spans]

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
    def of_hours(
        cls,
        hours: Iterable[Sequence[int]] | None,
        margin: timedelta = timedelta(0),
        length: timedelta = HOUR,
    ) -> "TimePruner":
        """Ranges around spans of whole hours, or of other units.

        Args:
            hours: values of `hours_between`.
            margin: added on both sides of each span.
            length: the unit.
        """
        unit = span_micros(length)
        spans = ((low * unit, (high + 1) * unit - 1) for low, high in hours or ())
        return cls.of_spans(spans, margin)

    def in_days(self) -> "TimePruner":
        """Ranges of whole days, in UTC, that contain these.

        Conditions on them are equal in most micro-batches of a day, so their code is compiled once. See
        `lakehouse.run.batch_settings.compiled`.
        """
        day = span_micros(DAY)
        return TimePruner.of_spans(
            (low // day * day, (high // day + 1) * day - 1) for low, high in self._spans
        )

    def contains(self, time: str) -> Column:
        """A condition: a time may be inside one of the ranges."""
        return in_ranges(time, self._intervals())

    def overlaps(self, start: str, end: str) -> Column:
        """A condition: the span from start to end, both included, may overlap one of the ranges."""
        return overlapping(start, end, self._intervals())

    def _intervals(self) -> list[Interval]:
        return [(from_micros(low), from_micros(high)) for low, high in self._spans]


def _clip(micros: int) -> int:
    return min(max(micros, _FIRST), _LAST)


def hours_between(low: Column, high: Column, length: timedelta = HOUR) -> Column:
    """An aggregate: the distinct spans of whole hours that contain the spans of some rows.

    There are at most as many as rows, and as pairs of hours in their times: the driver can collect them.

    Args:
        low: start of a row's span, in microseconds.
        high: its end, included.
        length: unit of the spans, if not an hour.
    """
    unit = F.lit(span_micros(length))
    return F.collect_set(F.when(low.isNotNull(), F.array(F.floor(low / unit), F.floor(high / unit))))
