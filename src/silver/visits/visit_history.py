"""Rows of sessions, impressions and searches that a micro-batch may change."""

from datetime import datetime, timedelta
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from folds.rule_numbers import RuleNumbers
from lakehouse.contracts.exposures import IMPRESSIONS, SEARCHES
from lakehouse.contracts.silver import FOLDED, SESSIONS
from lakehouse.contracts.table import Table
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.checkpointing import checkpoint_with
from lakehouse.rows.time_pruner import TimePruner, hours_between
from lakehouse.timestamps import EPOCH, LAST, span_micros, to_micros
from silver.visits.visit_fold import takes_event

_FAR = to_micros(LAST)


def open_rows(
    lake: Lakehouse, events: DataFrame, before: datetime | None, watermark: datetime, span: timedelta
) -> dict[str, DataFrame]:
    """By table, the open rows that on-time events or the watermark may change.

    Closed sessions of the visitors are among them, as far back as new sessions may continue them.

    Rows without a due time were written before that column existed. They count as due: the fold closes them
    or sets their due time.

    Args:
        lake: the tables.
        events: on-time events. All are after the previous watermark, so they cannot change closed rows.
        before: the previous watermark.
        watermark: after the batch.
        span: a session may continue one that ended this long or less before.
    """
    visitors = F.broadcast(events.select("visitor_id").distinct().withColumn("_is_here", F.lit(True)))
    is_due = F.col("is_open") & (F.col("due_at").isNull() | (F.col("due_at") <= F.lit(watermark)))
    since = (before or EPOCH) - span
    found = {}
    for table in FOLDED:
        may_change = F.col("is_open")
        if table is SESSIONS:
            may_change |= F.col("ended_at") >= F.lit(since)
        rows = lake.read(table.name).where(may_change).join(visitors, "visitor_id", "left")
        found[table.name] = rows.where(F.col("_is_here") | is_due).select(*table.column_names)
    return found


class _Reach(NamedTuple):
    """How long before a visitor's late events rows may change, or matter, in microseconds."""

    start: str
    end: str
    back: int


def affected_rows(lake: Lakehouse, late: DataFrame, numbers: RuleNumbers) -> dict[str, DataFrame]:
    """By table, the rows that late events may change.

    There is no upper time limit: if clicks are close together, one more click may change which of the
    following clicks count, and if sessions continue each other, the first decides the campaign of them all.

    Args:
        lake: the tables.
        late: late events. Checkpointed.
        numbers: spans of sessions and exposures.
    """
    reaches = _reaches(numbers)
    bounds, near = checkpoint_with(
        late.groupBy("visitor_id").agg(
            *(_bounds(table, reaches[table.name]).alias(table.short_name) for table in FOLDED)
        ),
        **{table.short_name: hours_between(*_edges(table)) for table in FOLDED},
    )
    return {
        table.name: _near(
            lake, table, bounds, TimePruner.of_hours(near[table.short_name]), reaches[table.name]
        )
        for table in FOLDED
    }


def _reaches(numbers: RuleNumbers) -> dict[str, _Reach]:
    visited = span_micros(numbers.session_gap + numbers.continuation_span)
    seen = span_micros(numbers.impression_span + numbers.click_pause)
    return {
        SESSIONS.name: _Reach("started_at", "ended_at", visited),
        IMPRESSIONS.name: _Reach("event_time", "event_time", seen),
        SEARCHES.name: _Reach("event_time", "event_time", span_micros(numbers.search_span)),
    }


def _bounds(table: Table, reach: _Reach) -> Column:
    """An aggregate: the range from before a visitor's first event on; null without an event."""
    at = F.when(takes_event(table.name), F.unix_micros("event_time"))
    high = F.when(F.max(at).isNotNull(), F.lit(_FAR))
    return F.struct((F.min(at) - reach.back).alias("low"), high.alias("high"))


def _edges(table: Table) -> tuple[Column, Column]:
    return F.col(f"{table.short_name}.low"), F.col(f"{table.short_name}.high")


def _near(lake: Lakehouse, table: Table, bounds: DataFrame, near: TimePruner, reach: _Reach) -> DataFrame:
    """Rows that overlap their visitor's range."""
    theirs = F.broadcast(bounds.select("visitor_id", f"{table.short_name}.*").where("low IS NOT NULL"))
    rows = lake.read(table.name).where(near.overlaps(reach.start, reach.end)).join(theirs, "visitor_id")
    is_near = (F.unix_micros(reach.end) > F.col("low")) & (F.unix_micros(reach.start) < F.col("high"))
    return rows.where(is_near).select(*table.column_names)
