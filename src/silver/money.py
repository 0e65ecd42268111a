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
    return parse_number(text, MONEY)


def parse_number(text: Column, decimal: str) -> Column:
    """The number, half up to a decimal type's last digit; null for what is no number or does not fit."""
    nothing = F.when(text.rlike(_NEXT_TO_NOTHING), F.lit(0).cast(decimal))
    return F.when(text.rlike(_NUMBER), text.try_cast(decimal)).otherwise(nothing)
