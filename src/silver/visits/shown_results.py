"""Search results that a micro-batch may change, with the events and rows they are computed from."""

from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.visitors.rules import ExposureRule
from lakehouse.contracts.exposures import SEARCH_RESULTS
from lakehouse.contracts.silver import EVENTS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.semi_join import semi_join
from lakehouse.rows.time_pruner import TimePruner
from silver.visits.result_fold import EVENT_COLUMNS, of_results, result_changes


def results_on_time(
    lake: Lakehouse,
    new: DataFrame,
    near: TimePruner,
    after: datetime,
    rule: ExposureRule,
    watermark: datetime,
) -> DataFrame:
    """Changes of silver.search_results by on-time events and the watermark; not computed yet.

    Args:
        lake: the tables.
        new: `EVENT_COLUMNS` of the events.
        near: contains the times of the events, and the search span around each.
        after: high-water mark before the batch. Events are read up to it, because silver.events may already
            contain the new ones.
        rule: of searches.
        watermark: after the batch.
    """
    new = of_results(new).select(*EVENT_COLUMNS)
    before = _events_near(lake, new, near).where(F.col("ingested_at") <= F.lit(after))
    known = _known_or_due_rows(lake, new, near, watermark)
    return result_changes(new, before.select(*EVENT_COLUMNS).unionByName(new), known, rule, watermark)


def late_results(
    lake: Lakehouse, late: DataFrame, near: TimePruner, rule: ExposureRule, watermark: datetime
) -> DataFrame:
    """Changes of silver.search_results by late events; not computed yet.

    Args:
        lake: the tables; silver.events already contains the late events.
        late: visitor_id, event_time and role of the events.
        near: contains the times of the events, and the search span around each.
        rule: of searches.
        watermark: refine's current watermark.
    """
    new = of_results(late).select("visitor_id", "event_time")
    events = _events_near(lake, new, near).select(*EVENT_COLUMNS)
    return result_changes(new, events, _known_rows(lake, new, near), rule, watermark)


def _events_near(lake: Lakehouse, new: DataFrame, near: TimePruner) -> DataFrame:
    """At least the events that the affected searches are computed from."""
    events = of_results(lake.read(EVENTS.name).where(near.contains("event_time")))
    return semi_join(events, new, "visitor_id")


def _known_rows(lake: Lakehouse, new: DataFrame, near: TimePruner) -> DataFrame:
    """At least the current rows of the affected searches."""
    rows = lake.read(SEARCH_RESULTS.name).where(near.contains("event_time"))
    return semi_join(rows, new, "visitor_id").select(*SEARCH_RESULTS.column_names)


def _known_or_due_rows(lake: Lakehouse, new: DataFrame, near: TimePruner, watermark: datetime) -> DataFrame:
    """`_known_rows`, and open rows that the watermark changes: it has reached their `due_at`."""
    visitors = F.broadcast(new.select("visitor_id").distinct().withColumn("_is_here", F.lit(True)))
    is_due = F.col("is_open") & (F.col("due_at") <= F.lit(watermark))
    rows = lake.read(SEARCH_RESULTS.name).where(near.contains("event_time") | is_due)
    found = rows.join(visitors, "visitor_id", "left").where(F.col("_is_here") | is_due)
    return found.select(*SEARCH_RESULTS.column_names)
