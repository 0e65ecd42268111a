"""Window differences of handmade visitor minutes: by the fold, in Spark, and counted naively."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from folds.windows.differences import window_differences
from folds.windows.minutes import Minute
from folds.windows.revisions import Sums, WindowKey
from folds.windows.time_windows import Windows
from gold.traffic import differences
from gold.traffic.new_minutes import in_micros
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.traffic import VISITOR_MINUTES
from lakehouse.rows.arrow_frames import to_frame
from lakehouse.timestamps import to_micros

_MEASURES = ("page_views", "sessions", "impressions", "clicks", "searches", "conversions")


class VisitorMinute(NamedTuple):
    """A row of gold.visitor_minutes. Other measures are 0."""

    visitor: str
    minute: int
    channel: str | None
    events: int
    value: Decimal
    by_events: bool


def differences_of(
    rows: Sequence[VisitorMinute], known: int, windows: Iterable[Windows]
) -> dict[WindowKey, Sums]:
    """The window differences made by the rows from index `known` on, given all rows of their visitors."""
    by_visitor: dict[str, list[Minute]] = defaultdict(list)
    for place, row in enumerate(rows):
        zeros = dict.fromkeys(_MEASURES, 0)
        given = (row.minute, row.channel, place >= known, row.by_events, None, row.events)
        by_visitor[row.visitor].append(Minute(*given, **zeros, value=row.value))
    return window_differences(by_visitor, windows)


def differences_in_spark(
    spark: SparkSession, rows: Sequence[VisitorMinute], known: int, windows: Sequence[Windows]
) -> dict[WindowKey, Sums]:
    """The same, by the frames of publish."""
    minutes = in_micros(minutes_frame(spark, rows, range(len(rows))))
    by_key = {}
    for row in differences.window_differences(minutes, windows, known - 1).collect():
        kind, start, end, channel, *sums = row
        by_key[WindowKey(kind, to_micros(start), to_micros(end), channel)] = Sums(*sums)
    return by_key


def naive_differences(
    rows: Sequence[VisitorMinute], known: int, windows: Iterable[Windows]
) -> dict[WindowKey, Sums]:
    """The same, by counting each window before and after."""
    cells: dict[WindowKey, list[tuple[int, VisitorMinute]]] = defaultdict(list)
    for kind in windows:
        for place, row in enumerate(rows):
            for start, end in kind.spans_of(kind.bucket_of(row.minute)):
                for channel in {None, row.channel}:
                    cells[WindowKey(kind.kind, start, end, channel)].append((place, row))
    found = {key: _difference(inside, known) for key, inside in cells.items()}
    return {key: sums for key, sums in found.items() if any(sums)}


def _difference(inside: list[tuple[int, VisitorMinute]], known: int) -> Sums:
    new = [row for place, row in inside if place >= known]
    before = _visitors(row for place, row in inside if place < known)
    after = _visitors(row for _, row in inside)
    events, value = sum(row.events for row in new), sum((row.value for row in new), Decimal(0))
    by_events = [row.events for row in new if row.by_events]
    return Sums(events, 0, after - before, 0, 0, 0, 0, 0, value, len(by_events), sum(by_events))


def _visitors(rows: Iterable[VisitorMinute]) -> int:
    events: dict[str, int] = defaultdict(int)
    for row in rows:
        events[row.visitor] += row.events
    return sum(count > 0 for count in events.values())


def minutes_frame(spark: SparkSession, rows: Iterable[VisitorMinute], sequences: Iterable[int]) -> DataFrame:
    """Rows of gold.visitor_minutes."""
    made = [_row(row, sequence) for row, sequence in zip(rows, sequences, strict=True)]
    return to_frame(spark, pa.Table.from_pylist(made, arrow_schema(VISITOR_MINUTES)))


def _row(row: VisitorMinute, sequence: int) -> dict[str, Any]:
    given = {"visitor_id": row.visitor, "minute": row.minute, "channel": row.channel, "sequence": sequence}
    measures = {"events": row.events, "value": row.value, "by_events": row.by_events}
    return {**dict.fromkeys(_MEASURES, 0), **given, **measures}
