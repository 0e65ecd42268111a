"""Expectations that are compared with the shop's own history."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.quality.evaluation import Evaluator, Result, allowed_share
from lakehouse.quality.history import EVALUATIONS, History, RowCounts, WrittenCounts, history_of
from lakehouse.quality.suites import STOP, WARN, Expectation

SEEN = Expectation(
    "silver.impressions", "clicks are on something that was seen", "expect_column_values_to_not_be_in_set",
    STOP, "outcome", {}, None, mostly=0.5, at_least=200, margin=0.2,
)  # fmt: skip


def habit(share: float, looks: int = 10, rows: int = 400) -> History:
    history = History()
    for _ in range(looks):
        history.add(SEEN, RowCounts(rows, round(rows * share)))
    return history


def look(history: History, rows: int, unexpected: int) -> Result:
    (result,) = Evaluator([SEEN], history).evaluate({SEEN.id: (rows, unexpected)})
    return result


def test_a_shop_that_tracks_no_impressions_is_warned_and_never_held() -> None:
    history = History()
    for number in range(100):
        result = look(history, 1_000, 1_000 if number % 2 else 990)
        assert not result.stops
        history.add(SEEN, RowCounts(result.rows, result.unexpected))
    assert look(history, 1_000, 1_000).success, "by then it is a habit"


def test_without_history_it_warns() -> None:
    result = look(History(), 1_000, 620)
    assert (result.success, result.stops, result.severity) == (False, False, WARN)
    assert "a warning, until there is history" in str(result)


@pytest.mark.parametrize(
    ("share", "now", "stops"),
    [
        (0.05, 500, False),  # as declared
        (0.05, 501, True),
        (0.62, 820, False),  # the margin above its own
        (0.62, 821, True),
        (0.9, 1_000, False),
    ],
)
def test_a_jump_above_its_own_share_stops(share: float, now: int, stops: bool) -> None:
    result = look(habit(share), 1_000, now)
    assert (result.stops, result.success) == (stops, not stops)


def test_a_habit_never_makes_it_stricter_than_declared() -> None:
    assert allowed_share(SEEN, RowCounts(4_000, 0)) == 0.5


@pytest.mark.parametrize(("looks", "rows", "known"), [(4, 1_000, False), (5, 400, True), (5, 399, False)])
def test_a_habit_takes_five_looks_and_ten_times_the_rows(looks: int, rows: int, known: bool) -> None:
    assert (habit(0.1, looks, rows).of(SEEN) is not None) is known


def test_looks_at_too_few_rows_are_none() -> None:
    assert habit(0.1, 100, 199).of(SEEN) is None


def test_old_looks_are_no_habit() -> None:
    history = habit(1.0, EVALUATIONS)
    for _ in range(EVALUATIONS):
        history.add(SEEN, RowCounts(400, 0))
    assert history.of(SEEN) == RowCounts(400 * EVALUATIONS, 0)


@given(st.lists(st.tuples(st.integers(200, 5_000), st.floats(0, 1)), max_size=80), st.floats(0, 1))
def test_it_stops_just_what_exceeds_both(looks: list[tuple[int, float]], now: float) -> None:
    history, reported = History(), []
    for rows, share in looks:
        reported.append((rows, int(rows * share)))
        history.add(SEEN, RowCounts(*reported[-1]))
    last = reported[-EVALUATIONS:]
    rows = sum(each[0] for each in last)
    is_known = len(last) >= 5 and rows >= 2_000
    unexpected = int(1_000 * now)
    exceeds = (
        unexpected > 500 and is_known and unexpected / 1_000 > sum(each[1] for each in last) / rows + 0.2
    )
    assert look(history, 1_000, unexpected).stops is exceeds


def written(run_id: str, *, success: bool, severity: str = STOP) -> WrittenCounts:
    return WrittenCounts(run_id, SEEN.table, SEEN.name, success, severity, 1_000, 900)


@pytest.mark.parametrize(
    ("rows", "released", "looks"),
    [
        ([written("a", success=True)], [], 1),
        ([written("a", success=False)], [], 0),  # held, and mended
        ([written("a", success=False)], ["a"], 1),  # held, and let through
        ([written("a", success=False, severity=WARN)], [], 1),
    ],
)
def test_what_was_held_counts_only_once_it_is_released(
    rows: list[WrittenCounts], released: list[str], looks: int
) -> None:
    found = history_of([SEEN], [*rows, *[written("x", success=True)] * 4], released).of(SEEN)
    assert found == (RowCounts(5_000, 4_500) if looks else None)
