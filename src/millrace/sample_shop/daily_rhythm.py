"""When people come: little at night, most in the evening, a bit more at the weekend."""

from collections.abc import Callable
from random import Random

_HOUR = 3600
_DAY = 24 * _HOUR

_BY_HOUR = (3, 2, 1, 1, 1, 2, 5, 9, 12, 14, 15, 16, 17, 15, 14, 15, 17, 20, 24, 28, 30, 26, 17, 8)
_MEAN = sum(_BY_HOUR) / len(_BY_HOUR)
_WEEKEND = (5, 6)

Weight = Callable[[float], float]
"""How busy it is at an epoch second (UTC), against the mean."""


def weight_at(second: float) -> float:
    """How busy it is at an epoch second (UTC), against the mean of a weekday."""
    hour = int(second % _DAY // _HOUR)
    day_of_week = (int(second // _DAY) + 3) % 7  # 1970-01-01 was a Thursday; Monday is 0
    return _BY_HOUR[hour] / _MEAN * (1.15 if day_of_week in _WEEKEND else 1.0)


def demo_weight_at(second: float) -> float:
    """Like `weight_at`, with nights half as busy as the mean: a demo has traffic at any hour."""
    return 0.5 + 0.5 * weight_at(second)


def steady(second: float) -> float:
    """The same at any time."""
    del second
    return 1.0


def next_visit(second: float, visits_per_second: float, weight: Weight, rng: Random) -> float:
    """When the next visit begins, if the last began then."""
    return second + rng.expovariate(visits_per_second * weight(second))
