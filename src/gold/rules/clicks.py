"""The click rule: which of a visitor's clicks on one promotion count, and on what impression they are."""

from collections.abc import Iterable
from datetime import datetime, timedelta

PAUSE = timedelta(seconds=10)  # this long or longer after the last counted click, a click counts again
PAUSE_MICROS = PAUSE // timedelta(microseconds=1)
SEEN_WITHIN = timedelta(minutes=30)  # a click this long or longer after an impression is not on it


def counted(clicks: Iterable[tuple[datetime, str]]) -> list[str]:
    """The UIDs that count, of one visitor's clicks on one promotion given as (time, UID)."""
    kept: list[tuple[datetime, str]] = []
    for at, uid in sorted(clicks):
        if not kept or at - kept[-1][0] >= PAUSE:
            kept.append((at, uid))
    return [uid for _, uid in kept]
