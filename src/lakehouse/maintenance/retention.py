"""How long replaced files have to stay."""

import math
from collections.abc import Mapping
from datetime import datetime, timedelta

_DAY = timedelta(days=1)


def retention(wanted: timedelta, positions: Mapping[str, datetime]) -> timedelta:
    """How long to keep what is replaced: as long as wanted, and twice the lag of the slowest reader at least.

    Args:
        wanted: the setting.
        positions: by job, the ingest stamp that it is done up to.

    Returns:
        The setting, or whole days: tables are told, so it must not be news each time.
    """
    lag = max(positions.values()) - min(positions.values()) if positions else timedelta(0)
    return max(wanted, math.ceil(2 * lag / _DAY) * _DAY)


def in_hours(kept: timedelta) -> str:
    """As a table's property has it; a part of an hour counts as a whole one."""
    return f"interval {math.ceil(kept / timedelta(hours=1))} hours"
