"""Retention of removed files and log entries."""

import math
from collections.abc import Mapping
from datetime import datetime, timedelta

from lakehouse.contracts.lineage import OPTIONAL_JOBS

_DAY = timedelta(days=1)


def twice_the_lag(positions: Mapping[str, datetime]) -> timedelta:
    """The least retention: twice the lag of the slowest job, in whole days, so that it seldom changes.

    Tables are read as of the position of gold, which lags while the gate is closed. A job that is optional
    does not count: no table is read as of its position, and it may have ended for good.

    Args:
        positions: by job, its high-water mark.
    """
    marks = [mark for job, mark in positions.items() if job not in OPTIONAL_JOBS]
    lag = max(marks) - min(marks) if marks else timedelta(0)
    return math.ceil(2 * lag / _DAY) * _DAY


def in_hours(kept: timedelta) -> str:
    """The value of the table property, rounded up to whole hours."""
    return f"interval {math.ceil(kept / timedelta(hours=1))} hours"
