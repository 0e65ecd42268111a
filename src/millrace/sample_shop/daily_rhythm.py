"""Traffic by time of day: least at night, most in the evening, slightly more at the weekend."""

from collections.abc import Callable
from random import Random

_HOUR = 3600
_DAY = 24 * _HOUR

_BY_HOUR = (3, 2, 1, 1, 1, 2, 5, 9, 12, 14, 15, 16, 17, 15, 14, 15, 17, 20, 24, 28, 30, 26, 17, 8)
_MEAN = sum(_BY_HOUR) / len(_BY_HOUR)
_WEEKEND = (5, 6)

Weight = Callable[[float], float]
"""Returns the traffic at an epoch second (UTC), relative to the mean."""


def weight_at(second: float) -> float:
    """The traffic at an epoch second (UTC), relative to the mean of a weekday."""
    hour = int(second % _DAY // _HOUR)
    day_of_week = (int(second // _DAY) + 3) % 7  # 1970-01-01 was a Thursday; Monday is 0
    return _BY_HOUR[hour] / _MEAN * (1.15 if day_of_week in _WEEKEND else 1.0)


def demo_weight_at(second: float) -> float:
    """Like `weight_at`, but at least half of the mean, so that a demo has traffic at any hour."""
    return 0.5 + 0.5 * weight_at(second)


def steady(second: float) -> float:
    """Constant traffic."""
    del second
    return 1.0


def next_visit(second: float, visits_per_second: float, weight: Weight, rng: Random) -> float:
    """The start of the next visit after the last one."""
    return second + rng.expovariate(visits_per_second * weight(second))
