"""Computes changes of silver.search_results from searches, their results and clicks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.visitors.results import RESULT_ROLES, SearchEvent, ShownResult, as_of, find_results
from folds.visitors.rules import ExposureRule
from folds.visitors.spans import Span, is_within
from lakehouse.contracts.exposures import SEARCH_RESULTS
from lakehouse.delta.write_changes import as_tuples, change_type
from lakehouse.rows.driver_or_spark import KEY, Rows, local_rows, with_key
from lakehouse.rows.grouped import GroupedRows, Groups, batch_of_kind
from lakehouse.rows.row_changes import RowDiff
from lakehouse.timestamps import span_micros, to_micros

EVENT_COLUMNS = ("visitor_id", *SearchEvent._fields)
"""Columns of silver.events that rows are computed from."""

_CHANGE = SEARCH_RESULTS.short_name
_RESULT = pa.schema([pa.field(_CHANGE, change_type(SEARCH_RESULTS))])
_SPAN = [pa.field(KEY, pa.string()), pa.field("low", pa.int64()), pa.field("high", pa.int64())]
_HOUR = span_micros(timedelta(hours=1))


def result_groups(
    kinds: Mapping[str, Rows], spans: Mapping[str, Sequence[Span]], rule: ExposureRule, watermark: datetime
) -> Groups:
    """Build the grouped computation of search results, for time spans of visitors.

    Args:
        kinds: `event`, with `EVENT_COLUMNS`, and `known`, rows of silver.search_results: all rows within the
            spans, and other rows that only the watermark may change.
        spans: by visitor.
        rule: of searches.
        watermark: decides which rows are open.

    Returns:
        A lazy computation of one struct of `change_type`, named after the table.
    """
    columns = {"event": EVENT_COLUMNS, "known": SEARCH_RESULTS.column_names}
    of_visitor = {kind: with_key(rows, "visitor_id", columns[kind]) for kind, rows in kinds.items()}
    rows = [(visitor, *span) for visitor, theirs in spans.items() for span in theirs]
    span = local_rows(_SPAN, rows)
    return Groups({**of_visitor, "span": span}, _ResultFold(rule, to_micros(watermark)), _RESULT)


def all_results(events: DataFrame, rule: ExposureRule, watermark: datetime) -> DataFrame:
    """Compute all rows of silver.search_results from all events.

    A group is one hour of a visitor (or the search span, if longer), so that groups stay small. An event that
    may belong to a search of the previous group is in that group too.
    """
    length = F.lit(max(_HOUR, rule.span))
    times = (F.unix_micros("event_time") - back for back in (0, rule.span - 1))
    hours = F.array_distinct(F.array(*(at - F.pmod(at, length) for at in times)))
    placed = of_results(events, EVENT_COLUMNS).select(*EVENT_COLUMNS, F.explode(hours).alias("low"))
    key = F.concat_ws("|", F.col("low").cast("string"), "visitor_id").alias(KEY)
    spans = placed.select(key, "low", (F.col("low") + length).alias("high")).distinct()
    kinds = {"event": placed.select(key, *EVENT_COLUMNS), "span": spans}
    found = Groups(kinds, _ResultFold(rule, to_micros(watermark)), _RESULT).spread(events.sparkSession)
    return found.select(f"{_CHANGE}.*").select(*SEARCH_RESULTS.column_names)


class _ResultFold:
    """The search result fold, as Spark's Python workers run it.

    Args:
        rule: of searches.
        watermark: in microseconds.
    """

    def __init__(self, rule: ExposureRule, watermark: int) -> None:
        self._rule = rule
        self._watermark = watermark

    def __call__(self, groups: GroupedRows) -> Iterator[pa.RecordBatch]:
        spans = groups.rows("span", tuple)
        events = groups.rows("event", _of_visitor)
        known = groups.rows("known", ShownResult)
        diff, changes = RowDiff(SEARCH_RESULTS), []
        for group in spans.keys() | known.keys():
            before = set(known.get(group, ()))  # a row may have been looked up twice
            now = self._rows(events.get(group, ()), sorted(spans.get(group, ())), before)
            changes += as_tuples(diff.compare(before, now))
        if changes:
            yield batch_of_kind(_RESULT, _CHANGE, changes)

    def _rows(
        self, events: Sequence[tuple[str, SearchEvent]], spans: Sequence[Span], before: Iterable[ShownResult]
    ) -> list[ShownResult]:
        """Recompute the rows within the spans from events; apply only the watermark to the other rows."""
        outside = (row for row in before if not is_within(row.event_time, spans))
        others = [as_of(row, self._rule, self._watermark) for row in outside]
        if not events:
            return others
        visitor = events[0][0]
        theirs = [event for _, event in events]
        return others + find_results(visitor, theirs, spans, self._rule, self._watermark)


def of_results(events: Rows, names: Sequence[str]) -> Rows:
    """Select columns of events that are searches, results or clicks on results."""
    if isinstance(events, DataFrame):
        return events.where(F.col("role").isin(*RESULT_ROLES)).select(*names)
    is_one = pc.is_in(events["role"], pa.array(RESULT_ROLES))
    return events.filter(is_one).select(list(names))


def _of_visitor(visitor_id: str, *event: Any) -> tuple[str, SearchEvent]:
    return visitor_id, SearchEvent(*event)
