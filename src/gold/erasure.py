"""Makes gold as if events that silver no longer has had never been there."""

from dataclasses import replace
from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gold.credit.area import NewMoments
from gold.credit.dimensions import DimensionLoader, Dimensions
from gold.credit.minutes import MEASURES
from gold.daily.summary_schedule import SummarySchedule
from gold.publish import PublishRules, Round
from lakehouse.contracts import LOCKS
from lakehouse.contracts.gold import BOT_REFUNDS
from lakehouse.contracts.silver import EVENTS
from lakehouse.contracts.table import DELETED
from lakehouse.contracts.traffic import VISITOR_MINUTES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.write_changes import OLD_TIME, write_changes
from lakehouse.rows.checkpointing import checkpoint_with
from lakehouse.rows.semi_join import semi_join, without
from lakehouse.rows.time_pruner import hours_between
from lakehouse.run.batch_source import Batch
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Ledger
from lakehouse.timestamps import EPOCH

ERASED_COLUMNS = ("event_id", "visitor_id", "event_time", "order_id")
"""Columns of an erased event that gold is recomputed by."""

_CELL = ("visitor_id", "minute", "channel")


def remove_from_gold(run: JobContext, erased: DataFrame, visitors: DataFrame) -> None:
    """Recompute what the events have led to, and remove what is left of them. Idempotent.

    It is a micro-batch of publish without new rows: times of the erased events are those of its events.

    Args:
        run: the job's context; publish has processed what refine has.
        erased: `ERASED_COLUMNS` of the events. Checkpointed.
        visitors: visitor_id of the visitors whose rows may change. Checkpointed.
    """
    publish = replace(run, job="publish")
    with publish.lake.exclusive(*LOCKS["gold"]):
        last = Ledger(publish.lake).last(publish.job)
        if last is None:  # there is nothing in gold yet
            return
        batch = Batch(last.batch_id, last.position, last.position, 0, last.watermark, last.watermark)
        dimensions = DimensionLoader(publish.lake).load(batch)
        _delete_bot_refunds(publish.lake, dimensions, visitors, batch.upto)
        summaries = SummarySchedule(publish)
        rules = PublishRules.load(publish.settings.conf)
        moments = _moments(publish.lake, erased, visitors)
        Round(publish, batch, dimensions, rules, gone=erased).publish(moments)
        summaries.mark_stale(batch.upto, last.watermark or EPOCH, last.heard or EPOCH)
        summaries.update(now=True)
        summaries.forget(erased, visitors)
        _net_minutes(run.lake, visitors)


def _moments(lake: Lakehouse, erased: DataFrame, visitors: DataFrame) -> NewMoments:
    """Times of the erased events, of all others of their visitors, and of goals that share an order."""
    events, columns = lake.read(EVENTS.name), ("visitor_id", "event_time")
    orders = erased.where("order_id IS NOT NULL").select("order_id").distinct()
    goals = semi_join(events.where("goal IS NOT NULL"), orders, "order_id")
    others = semi_join(events, visitors, "visitor_id").select(*columns)
    rows = erased.select(*columns).union(others).union(goals.select(*columns)).distinct()
    at = F.unix_micros("event_time")
    moments, found = checkpoint_with(rows, hours=hours_between(at, at))
    return NewMoments(moments, found["hours"], has_reversals=False)


def _delete_bot_refunds(lake: Lakehouse, dimensions: Dimensions, visitors: DataFrame, upto: datetime) -> None:
    """Delete refunds of bots whose event is erased, or whose visitor is no bot any more."""
    theirs = semi_join(lake.read(BOT_REFUNDS.name), visitors, "visitor_id")
    events = semi_join(lake.read(EVENTS.name), theirs, "event_id")
    stay = semi_join(semi_join(theirs, events, "event_id"), dimensions.bots_among(theirs), "visitor_id")
    gone = {DELETED: F.lit(True), OLD_TIME: F.col("converted_at")}
    write_changes(lake, BOT_REFUNDS, without(theirs, stay, "event_id").withColumns(gone), upto)


def _net_minutes(lake: Lakehouse, visitors: DataFrame) -> None:
    """Replace the visitors' changes by their sums, which windows contain already.

    The commit is not one of publish, whose last one has the sequence through which windows are up to date.
    """
    table = VISITOR_MINUTES
    minutes = lake.read(table.name)
    types = {column.name: column.type for column in table.columns}
    sums = [F.sum(name).cast(types[name]).alias(name) for name in MEASURES]
    latest = (F.max("sequence").alias("sequence"), F.bool_or("by_events").alias("by_events"))
    netted = semi_join(minutes, visitors, "visitor_id").groupBy(*_CELL).agg(*sums, *latest)
    is_left = F.greatest(*(F.abs(F.col(name)).cast("decimal(38,4)") for name in MEASURES)) > 0
    others = minutes.join(F.broadcast(visitors.select("visitor_id")), "visitor_id", "left_anti")
    lake.overwrite(table.name, others.unionByName(netted.where(is_left).select(*table.column_names)))
