"""Windows updated by differences against windows counted from scratch."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import NamedTuple
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from folds.windows.revisions import EARLY, LATE, ON_TIME, Progress, Sums, WindowKey, WindowRow, revise
from folds.windows.window_rules import STANDARD, windows_of
from kit.window_minutes import VisitorMinute, differences_of

MINUTE, HOUR = 60_000_000, 3_600_000_000
ZONES = ("UTC", "Europe/Berlin", "Asia/Kathmandu", "America/St_Johns")
START = 1_774_742_400_000_000  # 2026-03-29T00:00Z: clocks in Berlin go forward an hour later


class Entry(NamedTuple):
    """A row of gold.visitor_minutes; a negative one reverts an earlier row."""

    visitor: str
    minute: int
    channel: str | None
    events: int
    value: Decimal


def entries() -> st.SearchStrategy[Entry]:
    return st.builds(
        Entry,
        st.sampled_from(["ann", "ben", "cid"]),
        st.one_of(
            st.sampled_from([0, 4, 5, 59, 60, 61, 23 * 60 + 59, 24 * 60]), st.integers(-3000, 3000)
        ).map(lambda minutes: START + minutes * MINUTE),
        st.sampled_from([None, "Direct", "Email"]),
        st.integers(1, 3),
        st.decimals(-9, 9, places=4),
    )


@st.composite
def batches(draw: st.DrawFn) -> list[list[Entry]]:
    """Batches of new entries and of reverted entries of earlier batches."""
    found: list[list[Entry]] = []
    there: list[Entry] = []
    for _ in range(draw(st.integers(1, 4))):
        gone = draw(st.lists(st.sampled_from(there), unique=True, max_size=2)) if there else []
        new = draw(st.lists(entries(), max_size=5))
        found.append(new + [each._replace(events=-each.events, value=-each.value) for each in gone])
        there = [each for each in there if each not in gone] + new
    return found


def counted_from_scratch(rows: Sequence[Entry], zone: str) -> dict[WindowKey, Sums]:
    """Every window that holds an event, by a walk over all windows' starts near each minute."""
    by_cell: dict[WindowKey, list[Entry]] = defaultdict(list)
    for row in rows:
        at = datetime.fromtimestamp(row.minute // 1_000_000, timezone.utc)
        local = at.astimezone(ZoneInfo(zone)).replace(hour=0, minute=0)
        day = [
            datetime(*each.timetuple()[:3], tzinfo=ZoneInfo(zone)) for each in (local, local + timedelta(1))
        ]
        spans = [("1 minute", row.minute, row.minute + MINUTE), ("1 hour", row.minute // HOUR * HOUR, None)]
        spans += [
            ("1 hour every 5 minutes", start, None)
            for start in range(row.minute // HOUR * HOUR - HOUR, row.minute + MINUTE, 5 * MINUTE)
            if start <= row.minute < start + HOUR
        ]
        spans += [("1 day", *(int(each.timestamp()) * 1_000_000 for each in day))]
        for kind, start, end in spans:
            for channel in {None, row.channel}:
                by_cell[WindowKey(kind, start, end or start + HOUR, channel)].append(row)
    return {key: _sums(found) for key, found in by_cell.items() if sum(row.events for row in found)}


def _sums(rows: Sequence[Entry]) -> Sums:
    events = sum(row.events for row in rows)
    visitors = defaultdict(int)
    for row in rows:
        visitors[row.visitor] += row.events
    present = sum(count > 0 for count in visitors.values())
    return Sums(events, 0, present, 0, 0, 0, 0, 0, sum((row.value for row in rows), Decimal(0)))


def differences_from(rows: Sequence[Entry], known: int, zone: str) -> dict[WindowKey, Sums]:
    """Differences by the rows after the first `known` ones."""
    minutes = [VisitorMinute(*row, by_events=row.events > 0) for row in rows]
    return differences_of(minutes, known, windows_of(STANDARD, zone))


def apply_batches(batches: list[list[Entry]], zone: str, watermarks: list[int]) -> dict[WindowKey, WindowRow]:
    rows: list[Entry] = []
    table: dict[WindowKey, WindowRow] = {}
    for batch, watermark in zip(batches, watermarks, strict=True):
        known, rows = len(rows), rows + batch
        for before, after in revise(
            table.values(), differences_from(rows, known, zone), Progress(watermark, watermark), STANDARD
        ):
            if before:
                assert table.pop(WindowKey(*before[:4])) == before
            if after:
                table[WindowKey(*after[:4])] = after
    return table


@settings(max_examples=40)
@given(batches(), st.sampled_from(ZONES), st.lists(st.integers(-3000, 3000), min_size=4, max_size=4))
def test_incremental_windows_equal_windows_from_scratch(made, zone, minutes):
    watermarks = [START + minute * MINUTE for minute in sorted(minutes)][: len(made)]
    table = apply_batches(made, zone, watermarks)
    wanted = counted_from_scratch([row for batch in made for row in batch], zone)
    assert {key: Sums(*row[4:12], row.value) for key, row in table.items()} == wanted
    for key, row in table.items():
        assert row.is_complete == (key.window_end <= watermarks[-1])
        assert row.reporting_value == row.value


@settings(max_examples=40)
@given(batches(), st.sampled_from(ZONES))
def test_total_differences_replace_existing_windows(made, zone):
    table = apply_batches(made, zone, [START] * len(made))
    other = made[0]
    total = differences_from(other, 0, zone)
    for before, after in revise(table.values(), total, Progress(START, START), STANDARD, is_total=True):
        if before:
            del table[WindowKey(*before[:4])]
        if after:
            table[WindowKey(*after[:4])] = after
    assert {key: Sums(*row[4:12], row.value) for key, row in table.items()} == counted_from_scratch(
        other, zone
    )


def minute_row(
    end: int, watermark: int, before: WindowRow | None, events: int, by_events: int = 1
) -> WindowRow | None:
    key = WindowKey("1 minute", end - MINUTE, end, None)
    rows = [before] if before else []
    sums = Sums(events, 0, 1, 0, 0, 0, 0, 0, Decimal(0), by_events)
    changes = {key: sums} if events else {}
    found = revise(rows, changes, Progress(watermark, watermark), STANDARD)
    return found[0][1] if found else before


def test_pane_is_early_then_on_time_then_late():
    early = minute_row(HOUR, HOUR - 1, None, 1)
    assert (early.pane, early.revision, early.is_complete) == (EARLY, 0, False)
    again = minute_row(HOUR, HOUR - 1, early, 1)
    assert (again.pane, again.revision) == (EARLY, 1)
    on_time = minute_row(HOUR, HOUR, again, 0)
    assert (on_time.pane, on_time.revision, on_time.is_complete) == (ON_TIME, 1, True)
    late = minute_row(HOUR, HOUR, on_time, 1)
    assert (late.pane, late.revision) == (LATE, 2)
    assert minute_row(HOUR, 2 * HOUR, late, 0) == late


def test_bot_removal_raises_revision_and_keeps_pane():
    on_time = minute_row(HOUR, HOUR, None, 3)
    assert (on_time.pane, on_time.revision) == (ON_TIME, 0)
    less = minute_row(HOUR, HOUR, on_time, -1, by_events=0)
    assert (less.pane, less.revision) == (ON_TIME, 1)
    late = minute_row(HOUR, HOUR, less, 1)
    assert (late.pane, late.revision) == (LATE, 2)
    assert minute_row(HOUR, HOUR, late, -1, by_events=0).pane == LATE


def test_emptied_window_is_removed():
    row = minute_row(HOUR, HOUR, None, 1)
    key = WindowKey(*row[:4])
    nothing = Sums(-1, 0, -1, 0, 0, 0, 0, 0, Decimal(0), by_events=1)
    assert revise([row], {key: nothing}, Progress(HOUR, HOUR), STANDARD) == [(row, None)]


def test_reporting_value_beyond_eighteen_digits_is_null():
    key = WindowKey("1 minute", 0, MINUTE, None)
    for amount, shown in ((10**14, None), (10**14 - 1, Decimal(10**14 - 1))):
        sums = Sums(1, 0, 1, 0, 0, 0, 0, 0, Decimal(amount))
        [(_, row)] = revise([], {key: sums}, Progress(0, 0), STANDARD)
        assert (row.value, row.reporting_value) == (amount, shown)
