"""Refunds and cancellations sent by bots: they count if the order that they reverse is a person's."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.persons.records import Goal
from folds.persons.refunds import OrderRules
from folds.visitors.rules import VisitorRules
from gold.credit.dimensions import Dimensions
from gold.credit.reversals import is_reversal
from gold.credit.visit_fold import GOAL, all_visits
from lakehouse.contracts.gold import BOT_REFUNDS, CONVERSIONS
from lakehouse.contracts.silver import EVENTS, SESSIONS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.grouped import rows_of_kind
from lakehouse.rows.semi_join import semi_join
from lakehouse.run.batch_source import Batch
from lakehouse.run.microbatch import stamped_within

_COLUMNS = BOT_REFUNDS.column_names
_FLAGS = ("has_analytics_consent", "has_attribution_consent", "is_published")


def new_bot_refunds(
    lake: Lakehouse, batch: Batch, dimensions: Dimensions, orders: OrderRules, rules: VisitorRules
) -> DataFrame:
    """Refunds and cancellations that bots sent in a micro-batch, including late ones, as goals of nobody.

    Checkpointed.
    """
    is_new = stamped_within(batch.after, batch.upto)
    if batch.has_side_input:
        is_new |= stamped_within(batch.side_input_after, batch.side_input_upto)
    events = lake.read(EVENTS.name).where(is_new & is_reversal(orders))
    of_bots = semi_join(events, dimensions.bots_among(events), "visitor_id")
    return checkpoint(_as_goals(lake, of_bots, dimensions, rules))


def no_bot_refunds(lake: Lakehouse) -> DataFrame:
    """No rows: a micro-batch without refunds and cancellations."""
    return of_nobody(lake.read(BOT_REFUNDS.name).limit(0))


def all_bot_refunds(
    lake: Lakehouse, dimensions: Dimensions, orders: OrderRules, rules: VisitorRules
) -> DataFrame:
    """All refunds and cancellations of bots, as goals of nobody."""
    events = lake.read(EVENTS.name).where(is_reversal(orders))
    of_bots = events.join(dimensions.bots, "visitor_id", "left_semi")
    return _as_goals(lake, of_bots, dimensions, rules)


def find_bot_refunds(lake: Lakehouse, orders: DataFrame) -> DataFrame:
    """Stored refunds and cancellations of bots that reverse one of the orders, as goals of nobody.

    Args:
        lake: the tables.
        orders: order_id of the orders.
    """
    if lake.version(BOT_REFUNDS.name) == 0:
        return no_bot_refunds(lake)
    return of_nobody(semi_join(lake.read(BOT_REFUNDS.name), orders, "order_id"))


def of_nobody(rows: DataFrame) -> DataFrame:
    """Rows with the columns of gold.bot_refunds, as goals without a person and a visit.

    Their money is as in a published row: an amount is 0 or less, and without one there is no currency.
    """
    types = {column.name: column.type for column in CONVERSIONS.columns}
    missing = {"person_id": "string", "visit": types["visit"], "custom_dimensions": "string"}
    missing |= dict.fromkeys(_FLAGS, "boolean")
    nothing = {name: F.lit(None).cast(type_) for name, type_ in missing.items()}
    value = F.col("value")
    money = {
        "value": F.when(value > 0, -value).otherwise(value),
        "currency": F.when(value.isNotNull(), F.col("currency")),
    }
    goals = rows.select(*_COLUMNS).withColumns({**nothing, **money, "is_published": F.lit(False)})
    return goals.select(*Goal._fields)


def _as_goals(lake: Lakehouse, of_bots: DataFrame, dimensions: Dimensions, rules: VisitorRules) -> DataFrame:
    no_sessions = lake.read(SESSIONS.name).limit(0)
    no_consents = dimensions.consents.limit(0)
    return of_nobody(rows_of_kind(all_visits(no_sessions, of_bots, no_consents, rules), GOAL))
