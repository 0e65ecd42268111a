"""Events that reverse an order."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from folds.persons.refunds import OrderRules


def is_reversal(orders: OrderRules) -> Column:
    """A condition: an event or a conversion refunds or cancels an order."""
    return F.col("goal").isin(*orders.reversals) & F.col("order_id").isNotNull()
