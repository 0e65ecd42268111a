"""How long replaced files have to stay."""

from collections.abc import Mapping
from datetime import datetime, timedelta


def retention(wanted: timedelta, positions: Mapping[str, datetime]) -> timedelta:
    """How long to keep what is replaced: as long as wanted, and twice the lag of the slowest reader at least.

    Args:
        wanted: the setting.
        positions: by job, the ingest stamp that it is done up to.
    """
    lag = max(positions.values()) - min(positions.values()) if positions else timedelta(0)
    return max(wanted, 2 * lag)
