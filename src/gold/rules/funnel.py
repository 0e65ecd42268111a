"""The funnel rule: which steps there are, and how far someone got."""

from collections.abc import Iterable
from datetime import datetime

STEPS = ("impression", "click", "visit", "search", "order")  # a visit is a page or screen looked at


def depth(events: Iterable[tuple[datetime, str, str]]) -> int:
    """How many steps a visitor took on one day, each after the one before.

    Args:
        events: time, UID and step of what the visitor did.

    Returns:
        0 to 5.
    """
    taken = 0
    for _, _, step in sorted(events):
        if taken < len(STEPS) and step == STEPS[taken]:
            taken += 1
    return taken
