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
from lakehouse.rows.checkpointing import checkpoint, checkpoint_with
from lakehouse.rows.semi_join import semi_join
from lakehouse.rows.time_pruner import TimePruner, hours_between
from lakehouse.run.batch_settings import compiled
from lakehouse.timestamps import EPOCH, LAST, span_micros, to_micros
from silver.visits.visit_fold import takes_event

_FAR = to_micros(LAST)


def recent_sessions(
    lake: Lakehouse, events: DataFrame, before: datetime | None, span: timedelta
) -> DataFrame:
    """Closed sessions of the visitors of some events, as far back as new sessions may continue them.

    All sessions of that time are searched, by compiled code that is the same for a day: docs/decisions/0073.

    Args:
        lake: the tables.
        events: on-time events. All are after the previous watermark.
        before: the previous watermark.
        span: a session may continue one that ended this long or less before.

    Returns:
        Rows of silver.sessions, checkpointed.
    """
    since = to_micros((before or EPOCH) - span)
    is_recent = TimePruner.of_spans([(since, _FAR)]).in_days().contains("ended_at")
    sessions = lake.read(SESSIONS.name).where(~F.col("is_open") & is_recent)
    with compiled(lake.spark):
        return checkpoint(semi_join(sessions, events, "visitor_id"))


def open_rows(lake: Lakehouse, events: DataFrame, watermark: datetime) -> dict[str, DataFrame]:
    """By table, the open rows that on-time events or the watermark may change.

    Rows without a due time were written before that column existed. They count as due: the fold closes them
    or sets their due time.

    Args:
        lake: the tables.
        events: on-time events. All are after the previous watermark, so they change closed rows only where a
            span of the rules was raised.
        watermark: after the batch.
    """
    visitors = F.broadcast(events.select("visitor_id").distinct().withColumn("_is_here", F.lit(True)))
    is_due = F.col("due_at").isNull() | (F.col("due_at") <= F.lit(watermark))
    found = {}
    for table in FOLDED:
        rows = lake.read(table.name).where("is_open").join(visitors, "visitor_id", "left")
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
