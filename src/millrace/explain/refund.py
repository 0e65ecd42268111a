"""What a refund counts for, where that is less than was sent."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any


def explain_limit(conversion: Mapping[str, Any], written: Callable[[Decimal], str]) -> str | None:
    """A sentence on a refund that was cut to what was left of its order.

    Args:
        conversion: row of gold.conversions.
        written: formats money.

    Returns:
        None if the conversion is no such refund.
    """
    if not conversion.get("over_refunded"):
        return None
    sent = conversion.get("value_sent")
    if sent is None:
        return "Earlier refunds left nothing of the order for it."
    amount = f"{written(sent)} {conversion['currency'] or '(no currency)'} was sent"
    if not conversion["value"]:
        return f"{amount}, but earlier refunds left nothing of the order: it counts for nothing."
    return f"{amount}, more than was left of the order: it counts for what was left."


def equals(value: Decimal, rate: Decimal, reporting_value: Decimal) -> str:
    """The sign between value × rate and the reporting value: a rounded value gives it only about."""
    return "=" if abs(value * rate - reporting_value) <= Decimal("0.00005") else "≈"
