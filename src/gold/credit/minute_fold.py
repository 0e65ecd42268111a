"""Differences that a micro-batch makes to gold.visitor_minutes."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.visitors.minutes import VisitorMinute
from folds.visitors.spans import is_within, minute_of
from gold.credit.minute_input import MinuteInput
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.traffic import VISITOR_MINUTES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.lookup import Lookup
from lakehouse.rows.arrow_frames import transpose
from lakehouse.rows.driver_or_spark import KEY, Rows, Source, local_rows, union, with_key
from lakehouse.rows.grouped import GroupedRows, Groups
from lakehouse.rows.time_pruner import TimePruner

MEASURES = (*VisitorMinute._fields[3:], "conversions", "value")
_CELL = VisitorMinute._fields[:3]
_STORED = (*_CELL, *MEASURES)
_NONE = Decimal(0)
RESULT = pa.schema([arrow_schema(VISITOR_MINUTES).field(name) for name in (*_CELL, *MEASURES, "by_events")])
_CONVERSION = [
    pa.field(KEY, pa.string()),
    pa.field("minute", pa.int64()),
    pa.field("channel", pa.string()),
    pa.field("is_counted", pa.bool_()),
    pa.field("value", pa.decimal128(38, 4)),
]
_SPAN = [
    *(pa.field(KEY, pa.string()), pa.field("low", pa.int64()), pa.field("high", pa.int64())),
    pa.field("is_area", pa.bool_()),
]

Cell = tuple[str, int, str | None]


def minute_changes(source: Source, given: MinuteInput) -> Groups:
    """Rows to append to gold.visitor_minutes, without the column sequence; a plan, not computed yet."""
    spans = [(visitor, *span, True) for visitor, theirs in given.area.spans.items() for span in theirs]
    spans += [(visitor, *span, False) for visitor, theirs in given.spots.items() for span in theirs]
    conversions = [
        (
            row.visitor_id,
            minute_of(row.converted_at),
            row.visit and row.visit.channel,
            row.is_counted is not False,  # null in rows that are older than the column
            row.reporting_value,
        )
        for row in given.conversions
    ]
    kinds = {
        "span": local_rows(_SPAN, spans),
        "now": with_key(given.minutes, "visitor_id", VisitorMinute._fields),
        "conversion": local_rows(_CONVERSION, conversions),
        "stored": with_key(_stored(source, spans, given.new_bots), "visitor_id", _STORED),
    }
    fold = partial(_fold_minutes, cause=Cause(given.new_bots, given.has_rates))
    return Groups(kinds, fold, RESULT)


def all_minute_changes(lake: Lakehouse, minutes: DataFrame, conversions: DataFrame) -> Groups:
    """Rows to append to gold.visitor_minutes for the whole history; a plan, not computed yet."""
    key = F.col("visitor_id").alias(KEY)
    converted = conversions.select(
        key,
        F.date_trunc("minute", "converted_at").alias("minute"),
        F.col("visit.channel").alias("channel"),
        "is_counted",
        F.col("reporting_value").cast("decimal(38,4)").alias("value"),
    )
    stored = lake.read(VISITOR_MINUTES.name).where(F.col("visitor_id").isNotNull())
    kinds = {
        "now": minutes.select(key, *VisitorMinute._fields),
        "conversion": converted,
        "stored": stored.select(key, *_STORED),
    }
    return Groups(kinds, partial(_fold_minutes, cause=Cause(is_rebuild=True)), RESULT)


def quarter_marks(quarters: Iterable[int]) -> pa.Table:
    """One row of zeros per quarter-hour, so that the daily tables of its day are recomputed."""
    rows = [(None, quarter, None, *[0] * (len(MEASURES) - 1), _NONE, False) for quarter in sorted(quarters)]
    return pa.Table.from_arrays(transpose(rows, list(RESULT)), schema=RESULT)


def _stored(source: Source, spans: Sequence[tuple[str, int, int, bool]], new_bots: Iterable[str]) -> Rows:
    near = TimePruner.of_spans((low, high - 1) for _, low, high, _ in spans)
    theirs = ("visitor_id", {visitor for visitor, *_ in spans})
    rows = source.look_up(VISITOR_MINUTES.name, Lookup(_STORED, near, "minute", key=theirs))
    bots = list(new_bots)
    if not bots:
        return rows
    return union(rows, source.look_up(VISITOR_MINUTES.name, Lookup(_STORED, key=("visitor_id", bots))))


@dataclass(frozen=True)
class Cause:
    """Reasons for changes of minutes other than events.

    Args:
        left: visitor_id of new bots.
        has_rates: whether there are new exchange rates, which change only money.
        is_rebuild: whether this is a rebuild, for which rules may have changed.
    """

    left: frozenset[str] = frozenset()
    has_rates: bool = False
    is_rebuild: bool = False

    def is_event(self, visitor: str, counts: Sequence[Any]) -> bool:
        """Whether events changed a visitor's minute, given the differences of `MEASURES`."""
        is_by_rate = self.has_rates and not any(counts[:-1])
        return not (self.is_rebuild or visitor in self.left or is_by_rate)


def _fold_minutes(groups: GroupedRows, cause: Cause) -> Iterator[pa.RecordBatch]:
    """The fold, run by workers: computed minus stored sums per cell, where they differ."""
    spans = groups.rows("span", tuple)
    now = groups.rows("now", VisitorMinute)
    conversions = groups.rows("conversion", tuple)
    stored = groups.rows("stored", tuple)
    rows: list[tuple[Any, ...]] = []
    for visitor in spans.keys() | stored.keys() | now.keys() | conversions.keys():
        cells: dict[Cell, list[Any]] = defaultdict(lambda: [0] * (len(MEASURES) - 1) + [_NONE])
        for minute in now.get(visitor, ()):
            _add(cells[minute[:3]], minute[3:], 1)
        for at, channel, is_counted, value in conversions.get(visitor, ()):
            cell = cells[visitor, at, channel]
            cell[-2] += is_counted
            cell[-1] += value or _NONE
        _subtract_stored(cells, stored.get(visitor, ()), spans.get(visitor, ()))
        changed = ((at, counts) for at, counts in cells.items() if any(counts))
        rows += [(*at, *counts, cause.is_event(visitor, counts)) for at, counts in changed]
    if rows:
        yield pa.RecordBatch.from_arrays(transpose(rows, list(RESULT)), schema=RESULT)


def _subtract_stored(
    cells: dict[Cell, list[Any]], stored: Iterable[tuple[Any, ...]], spans: Sequence[tuple[int, int, bool]]
) -> None:
    """Subtract stored sums: all of the area and of new bots; only conversions and value in the spots."""
    area = sorted((low, high) for low, high, is_area in spans if is_area)
    spots = sorted((low, high) for low, high, is_area in spans if not is_area)
    for visitor, minute, channel, *measures in stored:
        if not spans or is_within(minute, area):
            _add(cells[visitor, minute, channel], measures, -1)
        elif is_within(minute, spots):
            nothing = [0] * (len(MEASURES) - 2)
            _add(cells[visitor, minute, channel], [*nothing, *measures[-2:]], -1)


def _add(counts: list[Any], measures: Sequence[Any], sign: int) -> None:
    for place, measure in enumerate(measures):
        counts[place] += sign * measure
