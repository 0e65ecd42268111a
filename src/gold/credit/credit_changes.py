"""Changes of conversions, attribution and trails: computed rows compared with published ones."""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from folds.persons.fold import PersonRules
from folds.visitors.events import PAGE_VIEW
from gold.credit.affected_conversions import AffectedConversions
from gold.credit.credit_fold import PAGE_COLUMNS, TABLES, credit
from gold.credit.dimensions import Dimensions
from gold.credit.persons import SPAN, is_in_span, with_own_views
from lakehouse.contracts.gold import ATTRIBUTION, CONVERSIONS, TOUCHES, TRAILS
from lakehouse.contracts.silver import EVENTS
from lakehouse.contracts.table import DELETED
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.write_changes import as_tuples, change_type, struct_makers
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.equal_rows import without_equal
from lakehouse.rows.grouped import (
    KEY,
    GroupedRows,
    batch_of_kind,
    map_groups,
    part_of,
    table_rows,
    with_key,
)
from lakehouse.rows.row_changes import RowDiff
from lakehouse.rows.semi_join import semi_join, within_spans, without
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.run.batch_settings import compiled

CHANGES = pa.schema([pa.field(table.short_name, change_type(table)) for table in TABLES])
_NOW = "now"


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
        `CHANGES`: a struct of `change_type` for each table, of which one is not null; not computed yet.
    """
    touches = _touches(lake, affected, touch_changes, dimensions, rules.look_back)
    pages = _page_views(lake, affected.goals, affected.pages_near, dimensions)
    now = credit(affected.goals, dimensions.rates, touches, pages, dimensions.watermark, rules)
    ids = (F.col(f"{table.short_name}.conversion_id") for table in TABLES)
    before = {CONVERSIONS.name: affected.before, **_published(lake, affected)}
    kinds = {_NOW: with_key(now, F.coalesce(*ids), now.columns)}
    for table in TABLES:
        kinds[table.short_name] = with_key(before[table.name], "conversion_id", table.column_names)
    return map_groups(kinds, _compare, CHANGES)


def _compare(groups: GroupedRows) -> Iterator[pa.RecordBatch]:
    """Computed rows of conversions compared with published ones, in Spark's Python workers."""
    for table in TABLES:
        published, computed = groups.table(table.short_name), part_of(groups.table(_NOW), table.short_name)
        before, after = (
            table_rows(rows.drop_columns(KEY), tuple, **struct_makers(table))
            for rows in without_equal(published, computed)  # most are equal
        )
        if changes := as_tuples(RowDiff(table).compare(before, after)):
            yield batch_of_kind(CHANGES, table.short_name, changes)


def _touches(
    lake: Lakehouse,
    affected: AffectedConversions,
    changes: DataFrame,
    dimensions: Dimensions,
    look_back: int,
) -> DataFrame:
    """Touches of all persons of the goals, with person_id: published ones, with the changes applied."""
    at = F.unix_micros("converted_at")
    persons = (
        affected.goals.where("person_id IS NOT NULL")
        .groupBy("person_id")
        .agg((F.min(at) - look_back).alias("low"), (F.max(at) + 1).alias("high"))
    )
    columns = TOUCHES.column_names
    published = lake.read(TOUCHES.name).where(affected.touches_near.in_days().contains("touched_at"))
    with compiled(lake.spark):  # all spans, and all touches of the look-back: docs/decisions/0073
        spans = checkpoint(dimensions.spans_of(persons))
        theirs = checkpoint(within_spans(published, spans, "visitor_id", "touched_at").select(*columns))
    current = without(theirs, changes, "touch_id")
    current = current.unionByName(changes.where(~F.col(DELETED)).select(*columns))
    persons = F.broadcast(spans.select(F.col("visitor_id").alias("_visitor"), "person_id", *SPAN))
    is_theirs = (F.col("visitor_id") == F.col("_visitor")) & is_in_span("touched_at", "event_id")
    return with_own_views(current.join(persons, is_theirs).select(*columns, "person_id"), F.broadcast(spans))


def _page_views(lake: Lakehouse, goals: DataFrame, near: TimePruner, dimensions: Dimensions) -> DataFrame:
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
    found = views.join(theirs, is_inside).select("person_id", *(views[name] for name in PAGE_COLUMNS))
    return dimensions.credited(found, goals)


def is_page_view() -> Column:
    """A condition: an event is a page view of a visit."""
    return (F.col("role") == PAGE_VIEW) & F.coalesce(~F.col("is_server_event"), F.lit(True))


def _published(lake: Lakehouse, affected: AffectedConversions) -> dict[str, DataFrame]:
    """Published rows of attribution and trails of the affected conversions.

    After a crash, these tables may have rows of conversions that are not in gold.conversions yet.
    """
    keys = affected.before.select("conversion_id").union(affected.goals.select("conversion_id"))
    is_near = affected.near.contains("converted_at")
    return {
        table.name: semi_join(lake.read(table.name).where(is_near), keys, "conversion_id")
        for table in (ATTRIBUTION, TRAILS)
    }
