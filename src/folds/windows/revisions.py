"""Revisions: applies differences and the watermark to rows of gold.traffic."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from folds.windows.window_rules import WindowRule, WindowRules
from lakehouse.timestamps import span_micros

EARLY, ON_TIME, LATE = "early", "on_time", "late"
_TOO_MUCH = Decimal(10) ** 14  # more than decimal(18,4) holds


class Sums(NamedTuple):
    """Sums of a window, or a change of these sums.

    In a change, `by_events` is the number of minutes that were changed by events, and `new_events` is the
    number of events that these minutes add. The other minutes were changed by removed bots or by exchange
    rates.
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
    new_events: int = 0


class WindowRow(NamedTuple):
    """Row of gold.traffic.

    Args:
        pane: None until the window is published for the first time.
        late_events: number of late events that the sums exclude; None if late events change the sums.
        held: changes that a trigger holds back.
    """

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
    pane: str | None
    revision: int
    is_complete: bool
    value: Decimal
    late_events: int | None = None
    held: Sums | None = None


class WindowKey(NamedTuple):
    """Key of a row: the window and the channel."""

    window_kind: str
    window_start: int
    window_end: int
    channel: str | None


class Progress(NamedTuple):
    """How far results are complete: the watermark before and after the batch, in microseconds."""

    before: int
    now: int


NOTHING = Sums(0, 0, 0, 0, 0, 0, 0, 0, Decimal(0))
_COUNTED = 9  # leading fields of Sums that are sums of a window
_NO_COUNTS = (0, 0, 0, 0, 0, 0, 0, 0)
Change = tuple[WindowRow | None, WindowRow | None]


def revise(
    rows: Iterable[WindowRow],
    differences: Mapping[WindowKey, Sums],
    watermark: Progress,
    rules: WindowRules,
    is_total: bool = False,
) -> list[Change]:
    """Compute the rows that change, as pairs of the old and the new row.

    The pane is `early` before the watermark has passed the window's end, `on_time` at the first emission
    after that, and `late` at each later revision caused by events. A revision for another reason (a removed
    bot, a rate, a rule) keeps the pane. A trigger holds changes back before the window's end. A window with
    lateness `count` stays as published at its end: its rows count late events, and no channel gets a new row.

    Args:
        rows: at least all rows of windows that have a difference, rows that the watermark has passed, and
            rows that have a trigger which the watermark may fire.
        differences: of any windows.
        watermark: how far results are complete.
        rules: of all windows.
        is_total: the differences are totals, which replace the rows; a row without one is deleted.

    Returns:
        Old and new row of each change; the old row is None for an insert, the new row for a delete.
    """
    known = {WindowKey(*row[:4]): row for row in rows}
    at_end = {key[:3] for key, row in known.items() if row.pane in (ON_TIME, LATE)}
    found = []
    for key in known.keys() | differences.keys():
        before, change = known.get(key), differences.get(key, NOTHING)
        rule = rules.get(key.window_kind)
        after = None
        if rule is not None and is_total:
            after = _publish(key, change, before, NOTHING, watermark.now, rule)
        elif rule is not None and rule.lateness == "count" and key[:3] in at_end:
            after = _count_late(change, before)
        elif rule is not None:
            after = _follow(key, change, before, watermark, rule)
        if before != after:
            found.append((before, after))
    return found


def _follow(
    key: WindowKey, change: Sums, before: WindowRow | None, watermark: Progress, rule: WindowRule
) -> WindowRow | None:
    """Apply a change to a row: hold it back, or publish it."""
    if before is None:
        pending, published = change, NOTHING
    else:
        pending, published = _plus(before.held or NOTHING, change), _sums_of(before)
    if key.window_end <= watermark.now or _fires(rule, pending, watermark):
        return _publish(key, pending, before, published, watermark.now, rule)
    return _hold(key, pending, before)


def _count_late(change: Sums, before: WindowRow | None) -> WindowRow | None:
    """The row of a window that stays as published, with its late events; none for a channel without one."""
    if before is None:
        return None
    return before._replace(late_events=(before.late_events or 0) + max(0, change.new_events))


def _fires(rule: WindowRule, pending: Sums, watermark: Progress) -> bool:
    """Whether pending changes are published before the window's end."""
    trigger = rule.trigger
    if trigger is None:
        return True
    if trigger.events is not None:
        return pending.new_events >= trigger.events
    every = span_micros(trigger.every) if trigger.every else 1
    return watermark.now // every > watermark.before // every


def _hold(key: WindowKey, pending: Sums, before: WindowRow | None) -> WindowRow | None:
    held = pending if any(pending) else None
    if before is not None and before.pane is not None:
        return before._replace(held=held)
    if held is None:
        return None
    return WindowRow(*key, *_NO_COUNTS, Decimal(0), None, 0, False, Decimal(0), held=held)


def _publish(
    key: WindowKey,
    pending: Sums,
    before: WindowRow | None,
    published: Sums,
    watermark: int,
    rule: WindowRule,
) -> WindowRow | None:
    sums = _plus(published, pending)
    if not any(sums[:_COUNTED]):  # a refund sent by a bot has a value, but no event
        return None
    last = before if before is not None and before.pane is not None else None
    is_complete = key.window_end <= watermark
    is_changed = last is None or sums[:_COUNTED] != _sums_of(last)[:_COUNTED]
    money = sums.value if abs(sums.value) < _TOO_MUCH else None
    pane = _pane(is_complete, is_changed and pending.by_events > 0, last)
    revision = 0 if last is None else last.revision + is_changed
    late = 0 if rule.lateness == "count" and is_complete else None
    return WindowRow(*key, *sums[:8], money, pane, revision, is_complete, sums.value, late)


def _sums_of(row: WindowRow) -> Sums:
    return Sums(*row[4:12], row.value)


def _plus(first: Sums, second: Sums) -> Sums:
    parts: Iterable[tuple[Any, Any]] = zip(first, second, strict=True)
    return Sums._make(one + more for one, more in parts)


def _pane(is_complete: bool, is_late: bool, last: WindowRow | None) -> str:
    if not is_complete:
        return EARLY
    if last is None or last.pane in (None, EARLY):
        return ON_TIME
    return LATE if is_late else str(last.pane)


def sum_differences(parts: Iterable[tuple[WindowKey, Sequence[int | Decimal]]]) -> dict[WindowKey, Sums]:
    """Add up differences by window."""
    found: dict[WindowKey, Sums] = {}
    for key, sums in parts:
        found[key] = _plus(found.get(key, NOTHING), Sums._make(sums))
    return found
