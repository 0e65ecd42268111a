"""Merging of time spans into few padded ranges."""

from datetime import datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.rows.time_pruner import HOUR, SECOND, TimePruner
from lakehouse.rows.time_ranges import merge_spans
from lakehouse.timestamps import EPOCH, FIRST, LAST, from_micros, to_micros

MICRO = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("most", "merged"),
    [
        (24, [(-900, -890), (0, 4), (30, 31)]),
        (2, [(-900, -890), (0, 31)]),
        (1, [(-900, 31)]),
    ],
)
def test_overlapping_spans_merge_and_smallest_gaps_close_first(
    most: int, merged: list[tuple[int, int]]
) -> None:
    assert merge_spans([(30, 31), (0, 2), (2, 4), (1, 1), (-900, -890)], most) == merged


spans = st.tuples(st.integers(-50, 50), st.integers(0, 9)).map(lambda pair: (pair[0], sum(pair)))


@given(st.lists(spans, max_size=12), st.integers(1, 5))
def test_few_ordered_spans_cover_every_span(given_spans: list[tuple[int, int]], most: int) -> None:
    merged = merge_spans(given_spans, most)
    assert len(merged) <= most
    assert merged == sorted(merged)
    assert all(any(low <= start and end <= high for low, high in merged) for start, end in given_spans)


def test_hours_become_ranges_with_both_ends_included() -> None:
    pruner = TimePruner.of_hours([(3, 3), (5, 6)], margin=SECOND)
    assert pruner._intervals() == [
        (EPOCH + 3 * HOUR - SECOND, EPOCH + 4 * HOUR - MICRO + SECOND),
        (EPOCH + 5 * HOUR - SECOND, EPOCH + 7 * HOUR - MICRO + SECOND),
    ]
    assert TimePruner.of_hours(None)._intervals() == []


def test_range_padding_is_clipped_at_first_and_last_time() -> None:
    assert TimePruner.of_spans(
        [(to_micros(at), to_micros(at)) for at in (FIRST, LAST)], HOUR
    )._intervals() == [
        (FIRST, FIRST + HOUR),
        (LAST - HOUR, LAST),
    ]


times = st.integers(to_micros(FIRST), to_micros(LAST))


@given(st.lists(st.tuples(times, times).map(sorted).map(tuple), min_size=1, max_size=4))
def test_ranges_in_days_are_those_of_the_first_and_last_day(given_spans: list[tuple[int, int]]) -> None:
    whole = [
        (
            to_micros(datetime.combine(from_micros(low), time.min)),
            to_micros(datetime.combine(from_micros(high), time.max)),
        )
        for low, high in given_spans
    ]
    in_days = TimePruner.of_spans(given_spans).in_days()
    assert in_days._intervals() == TimePruner.of_spans(whole)._intervals()
