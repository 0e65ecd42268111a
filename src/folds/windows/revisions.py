"""Revisions: rows of gold.traffic as differences and the watermark change them."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

EARLY, ON_TIME, LATE = "early", "on_time", "late"
_TOO_MUCH = Decimal(10) ** 14  # more than decimal(18,4) holds


class WindowRow(NamedTuple):
    """Row of gold.traffic."""

    window_kind: str
    window_start: int
    window_end: int
    channel: str | None
    events: int
    page_views: int
    visitors: int
    sessions: int
    impressions: int
    clicks: int
    searches: int
    conversions: int
    reporting_value: Decimal | None
    pane: str
    revision: int
    is_complete: bool
    value: Decimal


class Sums(NamedTuple):
    """What is counted in a window, or by how much that changes.

    `by_events`: of a change, how many of the minutes that make it events have changed.
    """

    events: int
    page_views: int
    visitors: int
    sessions: int
    impressions: int
    clicks: int
    searches: int
    conversions: int
    value: Decimal
    by_events: int = 0


class WindowKey(NamedTuple):
    """Which window of which channel."""

    window_kind: str
    window_start: int
    window_end: int
    channel: str | None


NOTHING = Sums(0, 0, 0, 0, 0, 0, 0, 0, Decimal(0))


def revise(
    rows: Iterable[WindowRow], differences: Mapping[WindowKey, Sums], watermark: int, is_total: bool = False
) -> list[tuple[WindowRow | None, WindowRow | None]]:
    """The rows that change, each as it was and as it is; None: there was none, or nothing is left in it.

    The pane is `early` before the watermark has passed the window's end, `on_time` at the first emission
    after, `late` for each later revision that events make. A revision for another reason (a bot that leaves,
    a rate, a rule) leaves the pane as it is.

    Args:
        rows: those that differences concern, or that the watermark has passed; more do no harm.
        differences: of any windows.
        watermark: how far the results are complete, in microseconds.
        is_total: the differences are from nothing, and not from the rows: rows without one go.
    """
    known = {WindowKey(*row[:4]): row for row in rows}
    found = []
    for key in known.keys() | differences.keys():
        before = known.get(key)
        base = NOTHING if is_total or before is None else _sums_of(before)
        after = _row(key, _plus(base, differences.get(key, NOTHING)), before, watermark)
        if before != after:
            found.append((before, after))
    return found


def _sums_of(row: WindowRow) -> Sums:
    return Sums(*row[4:12], row.value)


def _plus(first: Sums, second: Sums) -> Sums:
    parts: Iterable[tuple[Any, Any]] = zip(first, second, strict=True)
    return Sums._make(one + more for one, more in parts)


def _row(key: WindowKey, sums: Sums, before: WindowRow | None, watermark: int) -> WindowRow | None:
    if not any(sums[:-1]):  # a refund that a bot sent is money without an event
        return None
    is_complete = key.window_end <= watermark
    is_changed = before is None or sums[:-1] != _sums_of(before)[:-1]
    money = sums.value if abs(sums.value) < _TOO_MUCH else None
    pane = _pane(is_complete, is_changed and sums.by_events > 0, before)
    revision = 0 if before is None else before.revision + is_changed
    return WindowRow(*key, *sums[:8], money, pane, revision, is_complete, sums.value)


def _pane(is_complete: bool, is_late: bool, before: WindowRow | None) -> str:
    if not is_complete:
        return EARLY
    if before is None or before.pane == EARLY:
        return ON_TIME
    return LATE if is_late else before.pane


def sum_differences(parts: Iterable[tuple[WindowKey, Sequence[int | Decimal]]]) -> dict[WindowKey, Sums]:
    """Differences by window, of several that may be of one."""
    found: dict[WindowKey, Sums] = {}
    for key, sums in parts:
        found[key] = _plus(found.get(key, NOTHING), Sums._make(sums))
    return found
