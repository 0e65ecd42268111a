"""Retention of removed files."""

import math
from collections.abc import Mapping
from datetime import datetime, timedelta

_DAY = timedelta(days=1)


def retention(wanted: timedelta, positions: Mapping[str, datetime]) -> timedelta:
    """The retention to set: the configured one, but at least twice the lag of the slowest job.

    Args:
        wanted: the configured retention.
        positions: by job, its high-water mark.

    Returns:
        The configured retention, or whole days, so that the table property seldom changes.
    """
    lag = max(positions.values()) - min(positions.values()) if positions else timedelta(0)
    return max(wanted, math.ceil(2 * lag / _DAY) * _DAY)


def in_hours(kept: timedelta) -> str:
    """The value of the table property, rounded up to whole hours."""
    return f"interval {math.ceil(kept / timedelta(hours=1))} hours"
