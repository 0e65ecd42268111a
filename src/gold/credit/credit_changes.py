"""Changes of conversions, attribution and trails: computed rows compared with published ones."""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from folds.persons.fold import PersonRules
from folds.visitors.events import PAGE_VIEW
from gold.credit.affected_conversions import AffectedConversions
from gold.credit.credit_fold import PAGE_COLUMNS, TABLES, credit
from gold.credit.dimensions import Dimensions
from lakehouse.contracts.gold import ATTRIBUTION, CONVERSIONS, TOUCHES, TRAILS
from lakehouse.contracts.silver import EVENTS
from lakehouse.contracts.table import DELETED
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.write_changes import OLD_TIME, changes_between
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.grouped import rows_of_kind
from lakehouse.rows.semi_join import semi_join, within_spans, without
from lakehouse.rows.time_pruner import TimePruner, hours_between


def credit_changes(
    lake: Lakehouse,
    affected: AffectedConversions,
    touch_changes: DataFrame,
    dimensions: Dimensions,
    rules: PersonRules,
) -> DataFrame:
    """Changes of conversions, attribution and trails.

    Args:
        lake: the tables; none of these has the micro-batch yet, or all of it.
        affected: the affected conversions.
        touch_changes: changed touches as `change_type`, not in gold.touches yet.
        dimensions: of the micro-batch.
        rules: the rules in force.

    Returns:
        A struct of `change_type` for each table, of which one is not null. Checkpointed.
    """
    goals = affected.goals
    at = F.unix_micros("converted_at")
    visited = F.when(F.col("visit").isNotNull(), at)
    near = goals.agg(
        hours_between(at - rules.look_back, at).alias("touches"),
        hours_between(F.unix_micros("visit.at"), visited).alias("pages"),
    ).collect()[0]
    touches = _touches(
        lake, goals, touch_changes, dimensions, TimePruner.of_hours(near.touches), rules.look_back
    )
    pages = _page_views(lake, goals, TimePruner.of_hours(near.pages))
    now = checkpoint(credit(goals, dimensions.rates, touches, pages, dimensions.watermark, rules))
    before = {CONVERSIONS.name: affected.before, **_published(lake, affected)}
    changes = (
        changes_between(table, before[table.name], rows_of_kind(now, table.short_name)) for table in TABLES
    )
    named = (
        rows.select(F.struct(*table.column_names, DELETED, OLD_TIME).alias(table.short_name))
        for table, rows in zip(TABLES, changes, strict=True)
    )
    return checkpoint(reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), named))


def _touches(
    lake: Lakehouse,
    goals: DataFrame,
    changes: DataFrame,
    dimensions: Dimensions,
    near: TimePruner,
    look_back: int,
) -> DataFrame:
    """Touches of all persons of the goals, with person_id: published ones, with the changes applied."""
    at = F.unix_micros("converted_at")
    persons = (
        goals.where("person_id IS NOT NULL")
        .groupBy("person_id")
        .agg((F.min(at) - look_back).alias("low"), (F.max(at) + 1).alias("high"))
    )
    visitors = checkpoint(dimensions.visitors_of(checkpoint(persons)))
    columns = TOUCHES.column_names
    published = lake.read(TOUCHES.name).where(near.contains("touched_at"))
    published = within_spans(published, visitors, "visitor_id", "touched_at")
    current = without(published, changes, "touch_id").select(*columns)
    current = current.unionByName(changes.where(~F.col(DELETED)).select(*columns))
    return current.join(F.broadcast(visitors.select("visitor_id", "person_id")), "visitor_id")


def _page_views(lake: Lakehouse, goals: DataFrame, near: TimePruner) -> DataFrame:
    """Page views of the goals' visits, with person_id; some of other visits may be among them."""
    spans = (
        goals.where("visit IS NOT NULL")
        .groupBy("visitor_id", "person_id")
        .agg(
            F.unix_micros(F.min("visit.at")).alias("low"),
            (F.unix_micros(F.max("converted_at")) + 1).alias("high"),
        )
    )
    views = lake.read(EVENTS.name).where(near.contains("event_time") & is_page_view())
    theirs = F.broadcast(spans)
    at = F.unix_micros("event_time")
    is_inside = (views["visitor_id"] == theirs["visitor_id"]) & at.between(theirs["low"], theirs["high"])
    return views.join(theirs, is_inside).select("person_id", *(views[name] for name in PAGE_COLUMNS))


def is_page_view() -> Column:
    """A condition: an event counts as a page view."""
    return F.col("role") == PAGE_VIEW


def _published(lake: Lakehouse, affected: AffectedConversions) -> dict[str, DataFrame]:
    """Published rows of attribution and trails of the affected conversions.

    After a crash, these tables may have rows of conversions that are not in gold.conversions yet.
    """
    columns = ("conversion_id", "converted_at")
    either = affected.before.select(*columns).unionByName(affected.goals.select(*columns))
    ids = checkpoint(either.distinct())
    at = F.unix_micros("converted_at")
    near = TimePruner.of_hours(ids.agg(hours_between(at, at)).collect()[0][0])
    keys = checkpoint(ids.select("conversion_id").distinct())
    return {
        table.name: semi_join(
            lake.read(table.name).where(near.contains("converted_at")), keys, "conversion_id"
        )
        for table in (ATTRIBUTION, TRAILS)
    }
