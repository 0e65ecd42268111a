"""Decisions on what Great Expectations has counted are those of the gate."""

from types import SimpleNamespace
from typing import Any

import pytest

from lakehouse.quality.gx_expectations import results_of
from lakehouse.quality.history import History, RowCounts
from lakehouse.quality.suites import STOP, WARN, Expectation

NOT_NULL, IN_SET = "expect_column_values_to_not_be_null", "expect_column_values_to_be_in_set"


def decide(
    expectation: Expectation, counts: dict[str, Any], history: History | None = None, success: bool = False
) -> tuple[bool, str, Any]:
    """Success and severity of a result, and the suite's result that is shown."""
    config = SimpleNamespace(meta={"id": expectation.id, "severity": expectation.severity})
    validated = SimpleNamespace(
        success=success,
        results=[SimpleNamespace(expectation_config=config, success=success, result=counts)],
        statistics={"evaluated_expectations": 1, "successful_expectations": int(success)},
    )
    (result,) = results_of(validated, [expectation], history or History())
    (shown,) = validated.results
    assert (shown.success, config.meta["severity"]) == (result.success, result.severity)
    return result.success, result.severity, validated


def expectation(kind: str = NOT_NULL, at_least: int = 0, margin: float | None = None) -> Expectation:
    return Expectation(
        "silver.events", "all is well", kind, STOP, "url", mostly=0.9, at_least=at_least, margin=margin
    )


@pytest.mark.parametrize(("rows", "is_met"), [(399, True), (400, False)])
def test_too_few_rows_are_not_decided_on(rows: int, is_met: bool) -> None:
    counts = {"element_count": rows, "unexpected_count": rows}
    success, severity, suite = decide(expectation(at_least=400), counts)
    assert (success, severity, suite.success) == (is_met, STOP, is_met)
    assert suite.statistics == {
        "evaluated_expectations": 1,
        "successful_expectations": int(is_met),
        "unsuccessful_expectations": int(not is_met),
        "success_percent": 100 * is_met,
    }


def test_missing_values_are_no_rows_of_an_expectation_on_values() -> None:
    counts = {"element_count": 401, "missing_count": 2, "unexpected_count": 399}
    assert decide(expectation(IN_SET, at_least=400), counts)[0]


@pytest.mark.parametrize(("unexpected", "is_met"), [(50, True), (51, False)])
def test_share_may_exceed_that_of_history_by_the_margin(unexpected: int, is_met: bool) -> None:
    history, compared = History(), expectation(margin=0.2)
    for _ in range(5):
        history.add(compared, RowCounts(100, 30))
    counts = {"element_count": 100, "unexpected_count": unexpected}
    assert decide(compared, counts, history)[:2] == (is_met, STOP)


def test_without_history_a_failure_is_a_warning() -> None:
    counts = {"element_count": 100, "unexpected_count": 51}
    assert decide(expectation(margin=0.2), counts)[:2] == (False, WARN)


@pytest.mark.parametrize("success", [True, False])
@pytest.mark.parametrize("counts", [{"observed_value": 7}, {}])
def test_great_expectations_decides_where_no_rows_are_counted(counts: dict[str, Any], success: bool) -> None:
    counted = expectation("expect_table_row_count_to_equal", at_least=400)
    assert decide(counted, counts, success=success)[:2] == (success, STOP)
