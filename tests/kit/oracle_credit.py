"""Test oracle for the credit and value of one conversion's touches, computed naively."""

from decimal import ROUND_HALF_UP, Decimal

from kit.oracle_wire import DAY, Fields

MODELS = ("first", "last", "last_non_direct", "linear", "position_based", "time_decay")
_ZERO = Decimal("0.0000")


def credit(model: str, journey: list[Fields]) -> list[float]:
    """The credit of each touch."""
    touches = len(journey)
    if model == "linear" or (model == "position_based" and touches <= 2):
        return [1.0 / touches] * touches
    if model == "position_based":
        return [0.4] + [0.2 / (touches - 2)] * (touches - 2) + [0.4]
    if model == "time_decay":
        weights = [0.5 ** (touch["age"] / (7 * DAY)) for touch in journey]
        return [weight / sum(weights) for weight in weights]
    chosen = 0 if model == "first" else touches - 1
    if model == "last_non_direct":
        found = [number for number in range(touches) if journey[number]["channel"] != "Direct"]
        chosen = found[-1] if found else chosen
    return [float(number == chosen) for number in range(touches)]


def allocate(value: Decimal | None, shares: list[float]) -> list[Decimal | None]:
    """Split a value by shares, to four decimals. The rounding rest goes to the largest, latest share."""
    if value is None:
        return [None for _ in shares]
    parts = [(value * Decimal(repr(share))).quantize(_ZERO, ROUND_HALF_UP) + 0 for share in shares]
    largest = max(range(len(shares)), key=lambda number: (shares[number], number))
    parts[largest] += value - sum(parts)
    return list(parts)
