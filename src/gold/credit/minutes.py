"""Differences that a micro-batch makes to gold.visitor_minutes: computed minus stored sums."""

from collections.abc import Mapping
from datetime import timedelta
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from folds.visitors.minutes import MINUTE, VisitorMinute
from gold.credit.affected_conversions import find_conversions
from gold.credit.area import Area
from gold.credit.dimensions import Dimensions
from lakehouse.contracts.gold import CONVERSIONS
from lakehouse.contracts.table import DELETED
from lakehouse.contracts.traffic import VISITOR_MINUTES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.semi_join import semi_join, within_spans, without
from lakehouse.rows.time_pruner import TimePruner

_COUNTS = VisitorMinute._fields[3:]
_OF_CONVERSIONS = ("conversions", "value")
MEASURES = (*_COUNTS, *_OF_CONVERSIONS)
_CELL = VisitorMinute._fields[:3]
_TYPES = {column.name: column.type for column in VISITOR_MINUTES.columns}
_QUARTER = timedelta(minutes=15)


def minute_changes(
    lake: Lakehouse,
    area: Area,
    minutes: DataFrame,
    before: DataFrame,
    changed: DataFrame,
    near: TimePruner,
    dimensions: Dimensions,
) -> DataFrame:
    """Rows to append to gold.visitor_minutes, without the column sequence; not computed yet.

    Cells are compared in the area, and for conversions also in the minutes of changed conversions outside.

    Args:
        lake: the tables, with gold.conversions not updated yet.
        area: the area of the micro-batch.
        minutes: counts of events in the area.
        before: published rows of affected conversions, which include all conversions in the area.
        changed: changes of gold.conversions as `change_type`. Checkpointed.
        near: whole hours that contain the changed conversions, as they were and as they are.
        dimensions: the dimensions of the micro-batch.
    """
    concerned = _concerned(before, changed)
    spots = _spots(concerned, dimensions)
    there = before.unionByName(find_conversions(lake, near, spots, "visitor_id"))
    current = without(there.dropDuplicates(["conversion_id"]), changed, "conversion_id")
    current = current.unionByName(changed.where(~F.col(DELETED)).select(*CONVERSIONS.column_names))
    spans = area.spans.unionByName(spots)
    inside = within_spans(current, spans, "visitor_id", "converted_at")
    stored = lake.read(VISITOR_MINUTES.name).where("visitor_id IS NOT NULL")
    is_near = area.pruner.contains("minute") | near.contains("minute")
    published = within_spans(stored.where(is_near), spans, "visitor_id", "minute")
    cells = [
        _cells(minutes, _COUNTS),
        _cells(_converted(inside), _OF_CONVERSIONS),
        _cells(_without_counts_outside(published, area), MEASURES, -1),
    ]
    if dimensions.has_new_bots:  # they lose all their minutes but those of refunds that stay
        cells += [
            _cells(_converted(semi_join(current, dimensions.new_bots, "visitor_id")), _OF_CONVERSIONS),
            _cells(semi_join(stored, dimensions.new_bots, "visitor_id"), MEASURES, -1),
        ]
    quarters = _quarter_marks(
        area, before.select("converted_at").unionByName(concerned.select("converted_at"))
    )
    return _with_cause(_differences(cells), dimensions).unionByName(quarters)


def all_minute_changes(lake: Lakehouse, minutes: DataFrame, conversions: DataFrame) -> DataFrame:
    """Rows to append to gold.visitor_minutes for the whole history; not computed yet."""
    stored = lake.read(VISITOR_MINUTES.name).where("visitor_id IS NOT NULL")
    cells = [
        _cells(minutes, _COUNTS),
        _cells(_converted(conversions), _OF_CONVERSIONS),
        _cells(stored, MEASURES, -1),
    ]
    return _differences(cells).withColumn("by_events", F.lit(False))


def _without_counts_outside(rows: DataFrame, area: Area) -> DataFrame:
    """Minutes; of those outside the area, the counts of events are 0."""
    spans = F.broadcast(area.spans.select(F.col("visitor_id").alias("_visitor"), "low", "high"))
    at = F.unix_micros("minute")
    is_inside = (F.col("visitor_id") == F.col("_visitor")) & (at >= F.col("low")) & (at < F.col("high"))
    of_area = F.col("_visitor").isNotNull()
    counts = {name: F.when(of_area, F.col(name)).otherwise(0) for name in _COUNTS}
    return rows.join(spans, is_inside, "left").withColumns(counts)


def _concerned(before: DataFrame, changed: DataFrame) -> DataFrame:
    """visitor_id and converted_at of changed conversions, as they were and as they are."""
    columns = ("visitor_id", "converted_at")
    replaced = semi_join(before, changed, "conversion_id").select(*columns)
    return changed.select(*columns).unionByName(replaced)


def _spots(concerned: DataFrame, dimensions: Dimensions) -> DataFrame:
    """Minutes of changed conversions, as spans; several may be the same."""
    at = F.unix_micros("converted_at")
    low = at - F.pmod(at, F.lit(MINUTE))
    if dimensions.has_new_bots:
        concerned = without(concerned, dimensions.new_bots, "visitor_id")
    return concerned.select("visitor_id", low.alias("low"), (low + MINUTE).alias("high"))


def _converted(conversions: DataFrame) -> DataFrame:
    """Conversions with consent to analytics as cells of visitor, minute and channel."""
    counted = conversions.where(F.coalesce("has_analytics_consent", F.lit(True)))
    return counted.select(
        "visitor_id",
        F.date_trunc("minute", "converted_at").alias("minute"),
        F.coalesce("visit.channel", "traffic_channel").alias("channel"),
        F.coalesce("is_counted", F.lit(True)).cast("bigint").alias("conversions"),
        F.coalesce("reporting_value", F.lit(0)).alias("value"),
    )


def _cells(rows: DataFrame, measures: tuple[str, ...], sign: int = 1) -> DataFrame:
    """Cells with signed measures; those that are not named are 0."""
    values = {name: F.col(name) * sign if name in measures else F.lit(0) for name in MEASURES}
    return rows.select(*_CELL, *(value.cast(_TYPES[name]).alias(name) for name, value in values.items()))


def _differences(cells: list[DataFrame]) -> DataFrame:
    """The sums of cells that are not 0."""
    return (
        reduce(DataFrame.unionByName, cells)
        .groupBy(*_CELL)
        .agg(*(F.sum(name).cast(_TYPES[name]).alias(name) for name in MEASURES))
        .where(reduce(or_, (F.col(name) != 0 for name in MEASURES)))
    )


def _with_cause(sums: DataFrame, dimensions: Dimensions) -> DataFrame:
    """Add `by_events`: false for minutes of new bots, and if only money changed while there are new rates."""
    by_events = F.lit(True)
    if dimensions.has_new_rates:
        by_events = reduce(or_, (F.col(name) != 0 for name in MEASURES[:-1]))
    if dimensions.has_new_bots:
        bots = F.broadcast(dimensions.new_bots.withColumn("_is_bot", F.lit(True)))
        sums = sums.join(bots, "visitor_id", "left")
        by_events &= F.col("_is_bot").isNull()
    return sums.select(*_CELL, *MEASURES, by_events.alias("by_events"))


def _quarter_marks(area: Area, times: DataFrame) -> DataFrame:
    """A row of zeros per quarter-hour in which anything may have changed: daily tables are recomputed.

    Shorter spans would be too many; longer ones would not fit time zones in which days begin at a quarter.
    """
    length = F.lit(_QUARTER // timedelta(microseconds=1))
    spans = area.spans.select("low", "high")
    at = F.unix_micros("converted_at")
    spans = spans.unionByName(times.select(at.alias("low"), (at + 1).alias("high")))
    first, last = (edge - F.pmod(edge, length) for edge in (F.col("low"), F.col("high") - 1))
    quarters = spans.select(F.explode(F.sequence(first, last, length)).alias("at")).distinct()
    nothing: Mapping[str, Column] = {
        "visitor_id": F.lit(None),
        "minute": F.timestamp_micros("at"),
        "channel": F.lit(None),
        **dict.fromkeys(MEASURES, F.lit(0)),
    }
    marks = quarters.select(*(value.cast(_TYPES[name]).alias(name) for name, value in nothing.items()))
    return marks.withColumn("by_events", F.lit(False))
