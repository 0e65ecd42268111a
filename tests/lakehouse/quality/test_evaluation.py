"""Evaluation of expectations: the allowed share of violations, and the minimum number of rows."""

from lakehouse.quality.evaluation import Evaluator, Result
from lakehouse.quality.suites import STOP, WARN, Expectation

KIND = "expect_column_values_to_not_be_null"


def expectation(mostly: float = 0.9, at_least: int = 10, severity: str = STOP) -> Expectation:
    return Expectation("silver.events", "all is well", KIND, severity, "url", {}, None, mostly, at_least)


def evaluate(evaluator: Evaluator, rows: int, unexpected: int) -> Result:
    (result,) = evaluator.evaluate({expectation().id: (rows, unexpected)})
    return result


def test_expectation_passes_at_allowed_share() -> None:
    assert evaluate(Evaluator([expectation()]), 10, 1).success


def test_expectation_fails_above_allowed_share() -> None:
    result = evaluate(Evaluator([expectation()]), 10, 2)
    assert not result.success
    assert (result.rows, result.unexpected, result.observed) == (10, 2, 0.2)
    assert result.stops


def test_failed_warning_does_not_stop() -> None:
    warned = expectation(severity=WARN)
    (result,) = Evaluator([warned]).evaluate({warned.id: (10, 10)})
    assert not result.success
    assert not result.stops


def test_expectation_passes_without_rows() -> None:
    assert evaluate(Evaluator([expectation(at_least=0)]), 0, 0).success


def test_too_few_rows_pass_and_count_with_the_next_batch() -> None:
    evaluator = Evaluator([expectation()])
    assert evaluate(evaluator, 9, 9).success
    result = evaluate(evaluator, 1, 0)
    assert (result.rows, result.unexpected, result.success) == (10, 9, False)


def test_sufficient_rows_are_evaluated_without_rows_of_earlier_batches() -> None:
    evaluator = Evaluator([expectation()])
    evaluate(evaluator, 9, 0)
    assert evaluate(evaluator, 10, 2).rows == 10
    assert evaluate(evaluator, 9, 9).success, "what was kept is used up or passed over, not counted twice"


def test_evaluated_rows_are_not_counted_again() -> None:
    evaluator = Evaluator([expectation()])
    evaluate(evaluator, 9, 0)
    evaluate(evaluator, 1, 0)
    assert evaluate(evaluator, 9, 9).rows == 9


def test_reevaluation_of_failed_expectation_needs_no_minimum_of_rows() -> None:
    evaluator = Evaluator([expectation()])
    (again,) = evaluator.evaluate_again({expectation().id: (3, 3)}, [expectation().id])
    assert again.stops
    (other,) = evaluator.evaluate_again({expectation().id: (3, 3)}, [])
    assert other.success


def test_reset_discards_rows_of_earlier_batches() -> None:
    evaluator = Evaluator([expectation()])
    evaluate(evaluator, 9, 9)
    evaluator.reset()
    assert evaluate(evaluator, 9, 0).rows == 9
