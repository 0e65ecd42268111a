"""Money as clients write it: a number, or a number as text."""

from pyspark.sql import Column
from pyspark.sql import functions as F

MONEY = "decimal(18,4)"
_DIGITS = r"^\s*[+-]?(?:\d+\.?\d*|\.\d+)"
_NUMBER = _DIGITS + r"(?:[eE][+-]?0*\d{1,3})?\s*\z"
# Written out, such a number would fill the memory: Spark's cast tries, and fails the task.
_NEXT_TO_NOTHING = _DIGITS + r"[eE]-\d{4,}\s*\z"


def parse_money(text: Column) -> Column:
    """The amount, half up to four decimals; null for what is no number or has more than 18 digits."""
    nothing = F.when(text.rlike(_NEXT_TO_NOTHING), F.lit(0).cast(MONEY))
    return F.when(text.rlike(_NUMBER), text.try_cast(MONEY)).otherwise(nothing)
