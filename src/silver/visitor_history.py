"""The rows of sessions, impressions and searches that a batch may change."""

from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from folds.rule_numbers import RuleNumbers
from lakehouse.contracts.silver import FOLDED, IMPRESSIONS, SEARCHES, SESSIONS
from lakehouse.tables import Lakehouse
from silver.visitor_fold import TAKES


def open_rows(lake: Lakehouse, events: DataFrame, watermark: datetime) -> dict[str, DataFrame]:
    """By table, what on-time events and the watermark may change.

    Rows of before there was a due time are due: that gives them one, or closes them.

    Args:
        lake: the tables.
        events: on-time ones; each event is after the watermark before the batch, so that closed rows are
            beyond reach.
        watermark: after the batch.
    """
    visitors = F.broadcast(events.select("visitor_id").distinct().withColumn("_is_here", F.lit(True)))
    is_due = F.col("due_at").isNull() | (F.col("due_at") <= F.lit(watermark))
    return {
        table.name: lake.read(table.name)
        .where("is_open")
        .join(visitors, "visitor_id", "left")
        .where(F.col("_is_here") | is_due)
        .select(*table.column_names)
        for table in FOLDED
    }


def affected_rows(
    lake: Lakehouse, late: DataFrame, numbers: RuleNumbers, low: datetime, high: datetime
) -> dict[str, DataFrame]:
    """By table, what late events may change.

    Of exposures these are all but those beyond reach of a visitor's first: where clicks follow each other
    closely, one more shifts which count, on and on.

    Args:
        lake: the tables.
        late: events; settled.
        numbers: spans of sessions and exposures.
        low: time of the first event; it prunes files.
        high: time of the last.
    """
    visitors = F.broadcast(late.groupBy("visitor_id").agg(*map(_first, TAKES), _last_of_sessions()))
    gap = numbers.session_gap
    seen, searched = numbers.impression_span + numbers.click_pause, numbers.search_span
    near = (F.col("ended_at") > F.col(f"`{SESSIONS.name}`") - F.lit(gap)) & (
        F.col("started_at") < F.col("_last") + F.lit(gap)
    )
    conditions = {
        SESSIONS.name: (
            (F.col("started_at") <= F.lit(high + gap)) & (F.col("ended_at") >= F.lit(low - gap)),
            near,
        ),
        IMPRESSIONS.name: _since(IMPRESSIONS.name, low, seen),
        SEARCHES.name: _since(SEARCHES.name, low, searched),
    }
    return {
        table.name: lake.read(table.name)
        .where(conditions[table.name][0])
        .join(visitors, "visitor_id")
        .where(conditions[table.name][1])
        .select(*table.column_names)
        for table in FOLDED
    }


def _since(table: str, low: datetime, reach: object) -> tuple[Column, Column]:
    time = F.col("event_time")
    return time > F.lit(low) - F.lit(reach), time > F.col(f"`{table}`") - F.lit(reach)


def _first(table: str) -> Column:
    return F.min(F.when(F.expr(TAKES[table]), F.col("event_time"))).alias(table)


def _last_of_sessions() -> Column:
    return F.max(F.when(F.expr(TAKES[SESSIONS.name]), F.col("event_time"))).alias("_last")
