"""Affected conversions: those that a micro-batch may change."""

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.persons.records import Goal
from folds.persons.refunds import OrderRules
from gold.credit.area import Area
from gold.credit.bot_refunds import find_bot_refunds, of_nobody
from gold.credit.dimensions import Dimensions
from gold.credit.persons import SPAN, touches_span
from gold.credit.reversals import is_reversal
from lakehouse.contracts.gold import CONVERSIONS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.checkpointing import checkpoint, checkpoint_with
from lakehouse.rows.semi_join import semi_join, within_spans, without
from lakehouse.rows.time_pruner import TimePruner, hours_between
from lakehouse.run.batch_settings import compiled
from lakehouse.timestamps import FIRST, LAST, to_micros

_IS_SENT = "_is_sent"
_ID = "_visitor_or_person"


@dataclass(frozen=True)
class AffectedConversions:
    """Conversions to recompute.

    Args:
        before: their published rows. Checkpointed.
        goals: columns of `Goal`, to recompute them from: goal events in the area, and published rows. All
            have a person_id, except refunds and cancellations of bots. Checkpointed.
        bot_refunds: those of the goals that have to be added to gold.bot_refunds; None if there are none.
        near: contains the conversions, as they are published and as they will be.
        touches_near: contains the touches in the look-back of the goals.
        pages_near: contains the page views of the goals' visits.
    """

    before: DataFrame
    goals: DataFrame
    bot_refunds: DataFrame | None
    near: TimePruner
    touches_near: TimePruner
    pages_near: TimePruner


@dataclass(frozen=True)
class Changes:
    """Changes of a micro-batch that conversions depend on.

    Args:
        area: time spans of visitors that the micro-batch may change.
        goals: goal events in the area: columns of `Goal` without person_id and is_published.
        bot_refunds: refunds and cancellations that bots sent in the micro-batch; columns of `Goal`.
            Checkpointed.
        touched: visitor_id and touched_at of touches that were inserted, changed or deleted.
        touched_near: contains the conversions that these touches may have led to.
        dimensions: the dimensions of the micro-batch.
        look_back: maximum time from a touch to a conversion that it earns credit for, in microseconds.
        orders: which goals reverse an order.
        gone: event_id of goal events that are no longer in silver; None if there are none.
    """

    area: Area
    goals: DataFrame
    bot_refunds: DataFrame
    touched: DataFrame
    touched_near: TimePruner
    dimensions: Dimensions
    look_back: int
    orders: OrderRules
    gone: DataFrame | None = None


def find_affected(lake: Lakehouse, changes: Changes) -> AffectedConversions:
    """Find the conversions that a micro-batch may change.

    A conversion is affected if its goal event is new, if its session, touches, person or exchange rate may
    have changed, if its visitor is a new bot, or if it shares an order with an affected conversion, as a
    refund does.

    Args:
        lake: the tables, with gold.conversions not updated yet.
        changes: the changes of the micro-batch.
    """
    at = F.unix_micros("converted_at")
    found_directly = _union(_directly_affected(lake, changes)).dropDuplicates(["conversion_id"])
    # without a condition on time, nothing of the micro-batch is in the code: docs/decisions/0073
    with compiled(lake.spark) if _is_anywhere(changes) else nullcontext():
        direct, was = checkpoint_with(found_directly, hours=hours_between(at, at))
    named = (changes.goals, changes.bot_refunds, direct)
    orders = _union(rows.select("order_id") for rows in named).where("order_id IS NOT NULL")
    before, hours = direct, was["hours"]
    if shared := _of_orders(lake, orders, direct):
        others, were = checkpoint_with(shared, hours=hours_between(at, at))
        before, hours = direct.unionByName(others), [*hours, *were["hours"]]
    bots = checkpoint(changes.dimensions.bots_among(before))
    stored = find_bot_refunds(lake, orders)
    there = before if changes.gone is None else without(before, changes.gone, "event_id")
    reversed_by_bots = semi_join(there.where(is_reversal(changes.orders)), bots, "visitor_id")
    found = of_nobody(published_goals(reversed_by_bots))
    sent = without(found.unionByName(changes.bot_refunds), stored, "event_id").dropDuplicates(["event_id"])
    known = _goals_of_people(without(there, bots, "visitor_id"), changes).unionByName(stored)
    both = known.withColumn(_IS_SENT, F.lit(False)).unionByName(sent.withColumn(_IS_SENT, F.lit(True)))
    visited = F.when(F.col("visit").isNotNull(), at)
    goals, now = checkpoint_with(
        both,
        hours=hours_between(at, at),
        touches=hours_between(at - changes.look_back, at),
        pages=hours_between(F.unix_micros("visit.at"), visited),
        sent=F.count_if(_IS_SENT),
    )
    return AffectedConversions(
        before=before,
        goals=goals.drop(_IS_SENT),
        bot_refunds=goals.where(_IS_SENT).drop(_IS_SENT) if now["sent"] else None,
        near=TimePruner.of_hours([*hours, *now["hours"]]),
        touches_near=TimePruner.of_hours(now["touches"]),
        pages_near=TimePruner.of_hours(now["pages"]),
    )


def find_conversions(lake: Lakehouse, near: TimePruner, keys: DataFrame, column: str) -> DataFrame:
    """Published conversions by time and a key."""
    rows = lake.read(CONVERSIONS.name).where(near.contains("converted_at"))
    return semi_join(rows, keys, column)


def _directly_affected(lake: Lakehouse, changes: Changes) -> Iterable[DataFrame]:
    area, dimensions, conversions = changes.area, changes.dimensions, lake.read(CONVERSIONS.name)
    spans = [area.spans.select(F.col("visitor_id").alias(_ID), "low", "high"), _led(changes)]
    if dimensions.has_renamed:
        spans += _renamed(dimensions, changes.look_back)
    if dimensions.has_new_bots:
        ever = F.lit(to_micros(FIRST)).alias("low"), F.lit(to_micros(LAST)).alias("high")
        spans.append(dimensions.new_bots.select(F.col("visitor_id").alias(_ID), *ever))
    is_near = area.pruner.contains("converted_at") | changes.touched_near.contains("converted_at")
    near = conversions if _is_anywhere(changes) else conversions.where(is_near)
    ids = F.explode(F.array_distinct(F.array("visitor_id", "person_id")))  # one read for all
    yield within_spans(near.withColumn(_ID, ids), _union(spans), _ID, "converted_at").drop(_ID)
    if dimensions.has_new_rates:
        yield _rated_by(conversions, dimensions.rates.where(dimensions.new_rates))


def _is_anywhere(changes: Changes) -> bool:
    """Whether conversions of all times are searched."""
    return changes.dimensions.has_renamed or changes.dimensions.has_new_bots


def _led(changes: Changes) -> DataFrame:
    """Spans of the conversions that changed touches may have led to, by their persons."""
    spans = changes.dimensions.identities_of(changes.touched)
    touched = changes.touched.join(
        F.broadcast(spans.select("visitor_id", "user_id", *SPAN)).alias("span"),
        (changes.touched["visitor_id"] == F.col("span.visitor_id")) & touches_span("touched_at"),
        "left",
    )
    low = F.unix_micros("touched_at")
    return touched.select(
        F.coalesce("user_id", changes.touched["visitor_id"]).alias(_ID),
        low.alias("low"),
        (low + changes.look_back + 1).alias("high"),
    )


def _renamed(dimensions: Dimensions, look_back: int) -> list[DataFrame]:
    """Spans that have changed, and until later of the persons who may have lost or got a touch.

    Whoever had a span before still has one of the visitor's, since no login is ever removed; or it is the
    visitor, before the first login.
    """
    renamed = checkpoint(dimensions.renamed)
    until = (F.col("high") + 1).alias("high")
    users = dimensions.identities_of(renamed).select("visitor_id", "user_id").distinct()
    changed = renamed.select("visitor_id", "low", (F.col("high") + look_back + 1).alias("high"))
    whose = F.explode(F.array("user_id", "visitor_id")).alias(_ID)
    persons = users.join(F.broadcast(changed), "visitor_id").select(whose, "low", "high").distinct()
    return [renamed.select(F.col("visitor_id").alias(_ID), "low", until), persons]


def _of_orders(lake: Lakehouse, orders: DataFrame, known: DataFrame) -> DataFrame | None:
    """Conversions that share an order, except the known ones; None if no published one has such an order.

    All orders ever are searched, by two columns alone. Rows are then read by the times of the matches.
    """
    conversions = lake.read(CONVERSIONS.name)
    shared = semi_join(conversions.select("order_id", "converted_at"), orders, "order_id")
    at = F.unix_micros("converted_at")
    with compiled(lake.spark):
        hours = shared.agg(hours_between(at, at)).collect()[0][0]
    if not hours:
        return None
    near = TimePruner.of_hours(hours)
    rows = semi_join(conversions.where(near.contains("converted_at")), orders, "order_id")
    return without(rows, known, "conversion_id")


def _rated_by(conversions: DataFrame, rates: DataFrame) -> DataFrame:
    """Conversions that one of the rates applies to."""
    new = F.broadcast(rates.select(F.col("currency").alias("_currency"), "valid_from", "valid_to"))
    at, until = F.col("converted_at"), F.col("valid_to")
    is_valid = (F.col("valid_from") <= at) & (until.isNull() | (at < until))
    return conversions.join(new, (F.upper("currency") == F.col("_currency")) & is_valid, "left_semi")


def published_goals(rows: DataFrame) -> DataFrame:
    """Published rows as goals, with the amount and the currency that were sent; see `to_goal`."""
    own = {name: F.when(~F.col("is_of_order"), F.col(name)) for name in ("value", "currency")}
    own["value"] = F.coalesce("value_sent", own["value"])
    return rows.withColumns({**own, "is_published": F.lit(True)}).select(*Goal._fields)


def _goals_of_people(before: DataFrame, changes: Changes) -> DataFrame:
    """Goal events of the area and published rows, each with its current person."""
    new = changes.goals.withColumns({"is_published": F.lit(False), "person_id": F.lit(None).cast("string")})
    goals = new.select(*Goal._fields).unionByName(published_goals(before))
    return changes.dimensions.with_person(goals, "converted_at").select(*Goal._fields)


def _union(frames: Iterable[DataFrame]) -> DataFrame:
    return reduce(DataFrame.unionByName, frames)
