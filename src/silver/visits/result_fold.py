"""Changes of silver.search_results, computed from searches, their results and clicks."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.visitors.results import (
    RESULT_ROLES,
    SearchEvent,
    ShownResult,
    affected_spans,
    as_of,
    find_results,
)
from folds.visitors.rules import ExposureRule
from folds.visitors.spans import Span, is_within
from lakehouse.contracts.exposures import SEARCH_RESULTS
from lakehouse.delta.write_changes import WAS_OPEN, as_tuples, change_type
from lakehouse.rows.arrow_frames import transpose
from lakehouse.rows.grouped import GroupedRows, map_groups, with_key
from lakehouse.rows.row_changes import RowChange, RowDiff
from lakehouse.timestamps import span_micros, to_micros

EVENT_COLUMNS = ("visitor_id", *SearchEvent._fields)
"""Columns of silver.events that rows are computed from."""

_RESULT = pa.schema([*change_type(SEARCH_RESULTS), pa.field(WAS_OPEN, pa.bool_())])
_HOUR = span_micros(timedelta(hours=1))


def result_changes(
    new: DataFrame, events: DataFrame, known: DataFrame, rule: ExposureRule, watermark: datetime
) -> DataFrame:
    """Recompute the search results that new events and the watermark change.

    Args:
        new: visitor_id and event_time of the new events.
        events: `EVENT_COLUMNS`, the new events included: at least all events that the affected searches are
            computed from.
        known: rows of silver.search_results: all rows of the affected searches, and other rows that only the
            watermark may change. A row may be there twice.
        rule: of searches.
        watermark: decides which rows are open.

    Returns:
        Columns of `change_type`, and `WAS_OPEN`; not computed yet.
    """
    kinds = {
        "new": with_key(new, "visitor_id", ("event_time",)),
        "event": with_key(events, "visitor_id", EVENT_COLUMNS),
        "known": with_key(known, "visitor_id", SEARCH_RESULTS.column_names),
    }
    return map_groups(kinds, _ResultFold(rule, to_micros(watermark)), _RESULT)


def all_results(events: DataFrame, rule: ExposureRule, watermark: datetime) -> DataFrame:
    """Compute all rows of silver.search_results from all events.

    A group is one hour of a visitor (or the search span, if longer), so that groups stay small. An event that
    may belong to a search of the previous group is in that group too.
    """
    length = F.lit(max(_HOUR, rule.span))
    times = (F.unix_micros("event_time") - back for back in (0, rule.span - 1))
    hours = F.array_distinct(F.array(*(at - F.pmod(at, length) for at in times)))
    placed = of_results(events).select(*EVENT_COLUMNS, F.explode(hours).alias("low"))
    key = F.concat_ws("|", F.col("low").cast("string"), "visitor_id")
    spans = with_key(placed.withColumn("high", F.col("low") + length), key, ("low", "high")).distinct()
    kinds = {"event": with_key(placed, key, EVENT_COLUMNS), "span": spans}
    return map_groups(kinds, _ResultFold(rule, to_micros(watermark)), _RESULT).select(
        *SEARCH_RESULTS.column_names
    )


def of_results(events: DataFrame) -> DataFrame:
    """Select events that are searches, results or clicks on results."""
    return events.where(F.col("role").isin(*RESULT_ROLES))


class _ResultFold:
    """The fold, as Spark's Python workers run it.

    Args:
        rule: of searches.
        watermark: in microseconds.
    """

    def __init__(self, rule: ExposureRule, watermark: int) -> None:
        self._rule = rule
        self._watermark = watermark

    def __call__(self, groups: GroupedRows) -> Iterator[pa.RecordBatch]:
        new, spans = groups.rows("new", _time), groups.rows("span", tuple)
        events, known = groups.rows("event", _of_visitor), groups.rows("known", ShownResult)
        diff, changes = RowDiff(SEARCH_RESULTS), list[tuple[object, ...]]()
        for group in groups.keys:
            affected = [*affected_spans(new.get(group, ()), self._rule.span), *spans.get(group, ())]
            before = set(known.get(group, ()))  # a row may have been looked up twice
            found = diff.compare(before, self._rows(events.get(group, ()), sorted(affected), before))
            changes += _with_old_flags(found, before)
        yield pa.RecordBatch.from_arrays(transpose(changes, list(_RESULT)), schema=_RESULT)

    def _rows(
        self, events: Sequence[tuple[str, SearchEvent]], spans: Sequence[Span], before: Iterable[ShownResult]
    ) -> list[ShownResult]:
        """Recompute the rows within the spans from events; apply only the watermark to the other rows."""
        outside = (row for row in before if not is_within(row.event_time, spans))
        others = [as_of(row, self._rule, self._watermark) for row in outside]
        if not events:
            return others
        theirs = [event for _, event in events]
        return others + find_results(events[0][0], theirs, spans, self._rule, self._watermark)


def _with_old_flags(
    changes: Sequence[RowChange], before: Iterable[ShownResult]
) -> Iterator[tuple[object, ...]]:
    """Changes in the order of the fields of `_RESULT`."""
    was_open = {(row.search_event_id, row.rank): row.is_open for row in before}
    for change, values in zip(changes, as_tuples(changes), strict=True):
        row = ShownResult(*change.row)
        yield (*values, was_open.get((row.search_event_id, row.rank)))


def _of_visitor(visitor_id: str, *event: Any) -> tuple[str, SearchEvent]:
    return visitor_id, SearchEvent(*event)


def _time(at: int) -> int:
    return at
