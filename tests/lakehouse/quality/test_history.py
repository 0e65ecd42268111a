"""Expectations that are compared with the shop's own history."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.quality.evaluation import Evaluator, Result, allowed_share
from lakehouse.quality.history import EVALUATIONS, History, RowCounts, WrittenCounts, history_of
from lakehouse.quality.suites import STOP, WARN, Expectation, load_suites
from lakehouse.settings import load_settings

EXPECTATION = Expectation(
    "silver.impressions", "clicks are on something that was seen", "expect_column_values_to_not_be_in_set",
    STOP, "outcome", {}, None, mostly=0.5, at_least=200, margin=0.2,
)  # fmt: skip


def history_of_share(share: float, evaluations: int = 10, rows: int = 400) -> History:
    history = History()
    for _ in range(evaluations):
        history.add(EXPECTATION, RowCounts(rows, round(rows * share)))
    return history


def evaluate_with(history: History, rows: int, unexpected: int) -> Result:
    (result,) = Evaluator([EXPECTATION], history).evaluate({EXPECTATION.id: (rows, unexpected)})
    return result


def test_shop_without_impressions_is_warned_and_never_stopped() -> None:
    history = History()
    for number in range(100):
        result = evaluate_with(history, 1_000, 1_000 if number % 2 else 990)
        assert not result.stops
        history.add(EXPECTATION, RowCounts(result.rows, result.unexpected))
    assert evaluate_with(history, 1_000, 1_000).success, "by then it is a habit"


def test_failure_without_history_is_a_warning() -> None:
    result = evaluate_with(History(), 1_000, 620)
    assert (result.success, result.stops, result.severity) == (False, False, WARN)
    assert "a warning, until there is history" in str(result)


@pytest.mark.parametrize(
    ("share", "now", "stops"),
    [
        (0.05, 500, False),  # as declared
        (0.05, 501, True),
        (0.62, 820, False),  # the margin above the historical share
        (0.62, 821, True),
        (0.9, 1_000, False),
    ],
)
def test_share_above_historical_share_and_margin_stops(share: float, now: int, stops: bool) -> None:
    result = evaluate_with(history_of_share(share), 1_000, now)
    assert (result.stops, result.success) == (stops, not stops)


def test_low_historical_share_does_not_lower_declared_limit() -> None:
    assert allowed_share(EXPECTATION, RowCounts(4_000, 0)) == 0.5


@pytest.mark.parametrize(
    ("evaluations", "rows", "known"), [(4, 1_000, False), (5, 400, True), (5, 399, False)]
)
def test_history_needs_five_evaluations_and_ten_times_the_minimum_rows(
    evaluations: int, rows: int, known: bool
) -> None:
    assert (history_of_share(0.1, evaluations, rows).of(EXPECTATION) is not None) is known


def test_evaluations_below_minimum_rows_are_not_in_history() -> None:
    assert history_of_share(0.1, 100, 199).of(EXPECTATION) is None


def test_history_covers_latest_evaluations_only() -> None:
    history = history_of_share(1.0, EVALUATIONS)
    for _ in range(EVALUATIONS):
        history.add(EXPECTATION, RowCounts(400, 0))
    assert history.of(EXPECTATION) == RowCounts(400 * EVALUATIONS, 0)


@given(st.lists(st.tuples(st.integers(200, 5_000), st.floats(0, 1)), max_size=80), st.floats(0, 1))
def test_expectation_stops_only_above_declared_and_historical_share(
    evaluations: list[tuple[int, float]], now: float
) -> None:
    history, reported = History(), []
    for rows, share in evaluations:
        reported.append((rows, int(rows * share)))
        history.add(EXPECTATION, RowCounts(*reported[-1]))
    last = reported[-EVALUATIONS:]
    rows = sum(each[0] for each in last)
    is_known = len(last) >= 5 and rows >= 2_000
    unexpected = int(1_000 * now)
    exceeds = (
        unexpected > 500 and is_known and unexpected / 1_000 > sum(each[1] for each in last) / rows + 0.2
    )
    assert evaluate_with(history, 1_000, unexpected).stops is exceeds


def written(run_id: str, *, success: bool, severity: str = STOP) -> WrittenCounts:
    return WrittenCounts(run_id, EXPECTATION.table, EXPECTATION.name, success, severity, 1_000, 900)


@pytest.mark.parametrize(
    ("rows", "released", "is_counted"),
    [
        ([written("a", success=True)], [], 1),
        ([written("a", success=False)], [], 0),  # stopped, then fixed
        ([written("a", success=False)], ["a"], 1),  # stopped, then released
        ([written("a", success=False, severity=WARN)], [], 1),
    ],
)
def test_stopped_run_is_in_history_only_after_release(
    rows: list[WrittenCounts], released: list[str], is_counted: int
) -> None:
    found = history_of([EXPECTATION], [*rows, *[written("x", success=True)] * 4], released).of(EXPECTATION)
    assert found == (RowCounts(5_000, 4_500) if is_counted else None)


SUITES = load_suites(load_settings().conf)


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("silver.events", "orders have a number"),
        ("silver.events", "orders are not worth too much"),
        ("silver.events", "views have an address"),
        ("silver.events", "most events are on time"),
        ("silver.impressions", "clicks are on something that was seen"),
        ("silver.duplicate_events", "few records are copies"),
    ],
)
def test_habit_of_a_shop_never_stops_and_warns_until_there_is_history(table: str, name: str) -> None:
    (expectation,) = (each for each in SUITES[table].expectations if each.name == name)
    history = History()
    results = []
    rows = 10 * expectation.at_least
    for _ in range(6):
        (result,) = Evaluator([expectation], history).evaluate({expectation.id: (rows, rows)})
        results.append(result)
        history.add(expectation, RowCounts(result.rows, result.unexpected))
    assert not any(result.stops for result in results)
    assert [result.success for result in results] == [False] * 5 + [True]


def test_negative_orders_stop_without_history() -> None:
    (expectation,) = (
        each for each in SUITES["silver.events"].expectations if each.name == "orders are worth something"
    )
    (result,) = Evaluator([expectation]).evaluate({expectation.id: (1_000, 101)})
    assert result.stops
