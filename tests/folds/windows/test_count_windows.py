"""Count windows: where they end, and which minutes they contain."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folds.windows.count_windows import CountWindows, close_windows

MINUTE = 60_000_000


def minutes(*numbers: int) -> tuple[int, ...]:
    return tuple(number * MINUTE for number in numbers)


def closed(events: dict[int, int], last_end: int | None, watermark: int) -> list[int]:
    totals = [(minute * MINUTE, count) for minute, count in events.items()]
    end = None if last_end is None else last_end * MINUTE
    return [bound // MINUTE for bound in close_windows(totals, 10, end, watermark * MINUTE)]


@pytest.mark.parametrize(
    ("events", "last_end", "watermark", "bounds"),
    [
        ({3: 10}, None, 4, [3, 4]),
        ({3: 10}, None, 3, []),
        ({3: 9}, None, 60, []),
        ({3: 9, 50: 1}, None, 60, [3, 51]),
        ({3: 25}, None, 60, [3, 4]),
        ({3: 10, 4: 5, 9: 5, 10: 9}, None, 60, [3, 4, 10]),
        ({20: 4, 22: 6}, 10, 60, [10, 23]),
        ({20: 12, 22: -3, 23: 13}, 10, 60, [10, 21, 24]),
        ({}, 10, 60, []),
    ],
)
def test_count_window_ends_after_minute_of_its_last_event(events, last_end, watermark, bounds) -> None:
    assert closed(events, last_end, watermark) == bounds


def test_each_minute_before_last_end_lies_in_one_window() -> None:
    windows = CountWindows("ten", minutes(3, 4, 10), has_earlier=True)
    spans = {
        minute: windows.spans_of(windows.bucket_of(minute * MINUTE)) for minute in (0, 2, 3, 4, 9, 10, 99)
    }
    first, second, third = (minutes(0, 3),), (minutes(3, 4),), (minutes(4, 10),)
    assert CountWindows("ten", minutes(3, 4)).spans_of(CountWindows("ten", minutes(3, 4)).bucket_of(0)) == ()
    assert spans == {0: first, 2: first, 3: second, 4: third, 9: third, 10: (), 99: ()}


@given(st.dictionaries(st.integers(0, 200), st.integers(0, 15)), st.lists(st.integers(0, 220), max_size=5))
def test_count_windows_are_independent_of_watermark_steps(events: dict[int, int], marks: list[int]) -> None:
    """In an ordered log every event before the watermark has arrived."""
    bounds: list[int] = []
    for mark in [*sorted(marks), 220]:
        last = bounds[-1] if bounds else None
        there = {minute: count for minute, count in events.items() if last is None or minute >= last}
        new = closed(there, last, mark)
        bounds += new[1:] if bounds else new
    assert bounds == closed(events, None, 220)
