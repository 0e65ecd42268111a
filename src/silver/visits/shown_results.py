"""Updates silver.search_results for new events and the watermark."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.visitors.results import affected_spans
from folds.visitors.rules import ExposureRule
from folds.visitors.spans import Span
from lakehouse.contracts.exposures import SEARCH_RESULTS
from lakehouse.contracts.silver import EVENTS
from lakehouse.delta.lookup import Lookup
from lakehouse.delta.write_changes import write_changes
from lakehouse.rows.arrow_frames import rows_of
from lakehouse.rows.driver_or_spark import Rows, Source, is_empty, on_driver, union
from lakehouse.rows.grouped import Computed, Groups
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.timestamps import FIRST, to_micros
from silver.visits.result_fold import EVENT_COLUMNS, of_results, result_groups


def results_on_time(
    source: Source, new: Rows, after: datetime, rule: ExposureRule, watermark: datetime
) -> Groups | None:
    """Compute changes of silver.search_results by on-time events and the watermark.

    Args:
        source: reads the tables.
        new: `EVENT_COLUMNS` of the events.
        after: high-water mark before the batch. Events are read up to it, because silver.events may already
            contain the new ones.
        rule: of searches.
        watermark: after the batch.

    Returns:
        The groups of `result_groups`; None if there is nothing to do.
    """
    new = of_results(new, EVENT_COLUMNS)
    spans = _spans_by_visitor(new, rule)
    due = _due_rows(source, watermark)
    if not spans:
        return None if is_empty(due) else result_groups({"known": due}, {}, rule, watermark)
    before = _stamped_until(_events_near(source, spans, rule), after)
    known = union(_known_rows(source, spans), due)
    return result_groups({"event": union(before, new), "known": known}, spans, rule, watermark)


def late_results(source: Source, late: Rows, rule: ExposureRule, watermark: datetime) -> Groups | None:
    """Compute changes of silver.search_results by late events.

    Args:
        source: reads the tables; silver.events already contains the late events.
        late: visitor_id, event_time and role of the events.
        rule: of searches.
        watermark: refine's current watermark.

    Returns:
        The groups of `result_groups`; None if there is nothing to do.
    """
    spans = _spans_by_visitor(of_results(late, ("visitor_id", "event_time")), rule)
    if not spans:
        return None
    events = _events_near(source, spans, rule)
    return result_groups({"event": events, "known": _known_rows(source, spans)}, spans, rule, watermark)


def write_results(source: Source, groups: Groups | None, upto: datetime) -> None:
    """Compute changes of silver.search_results, and merge them in one commit.

    Args:
        source: reads the tables.
        groups: output of `result_groups`; None if there is nothing to do.
        upto: high-water mark (ingest stamp) of the table after this commit.
    """
    if groups is not None:
        changes = Computed(groups, source.lake.spark, source.on_driver).rows(SEARCH_RESULTS.short_name)
        write_changes(source.lake, SEARCH_RESULTS.name, changes, upto)


def _spans_by_visitor(events: Rows, rule: ExposureRule) -> dict[str, list[Span]]:
    """Find, by visitor, the time spans of searches that the events may change."""
    names = ("visitor_id", "event_time")
    times: dict[str, list[int]] = defaultdict(list)
    for visitor, at in rows_of(on_driver(events.select(list(names))), names):
        times[visitor].append(at)
    return {visitor: affected_spans(theirs, rule.span) for visitor, theirs in times.items()}


def _events_near(source: Source, spans: Mapping[str, Sequence[Span]], rule: ExposureRule) -> Rows:
    """Read at least the events that searches in the spans are computed from, with their ingest stamps."""
    near = TimePruner.of_spans((low, high + rule.span) for theirs in spans.values() for low, high in theirs)
    columns = (*EVENT_COLUMNS, "ingested_at")
    wanted = Lookup(columns, near, "event_time", key=("visitor_id", spans))
    return of_results(source.look_up(EVENTS.name, wanted), columns)


def _known_rows(source: Source, spans: Mapping[str, Sequence[Span]]) -> Rows:
    """Read at least the current rows of searches in the spans."""
    near = TimePruner.of_spans(span for theirs in spans.values() for span in theirs)
    wanted = Lookup(SEARCH_RESULTS.column_names, near, "event_time", key=("visitor_id", spans))
    return source.look_up(SEARCH_RESULTS.name, wanted)


def _due_rows(source: Source, watermark: datetime) -> Rows:
    """Read open rows that the watermark changes: it has reached their `due_at`."""
    due = TimePruner.of_spans([(to_micros(FIRST), to_micros(watermark))])
    return source.look_up(
        SEARCH_RESULTS.name, Lookup(SEARCH_RESULTS.column_names, due, "due_at", flag="is_open")
    )


def _stamped_until(events: Rows, stamp: datetime) -> Rows:
    """Select `EVENT_COLUMNS` of events up to an ingest stamp."""
    if isinstance(events, DataFrame):
        return events.where(F.col("ingested_at") <= F.lit(stamp)).select(*EVENT_COLUMNS)
    return events.filter(pc.less_equal(events["ingested_at"], to_micros(stamp))).select(list(EVENT_COLUMNS))
