"""When an expectation is met: shares, and rows too few to say anything."""

from lakehouse.quality.evaluation import Evaluator, Result
from lakehouse.quality.suites import STOP, WARN, Expectation

KIND = "expect_column_values_to_not_be_null"


def expectation(mostly: float = 0.9, at_least: int = 10, severity: str = STOP) -> Expectation:
    return Expectation("silver.events", "all is well", KIND, severity, "url", {}, None, mostly, at_least)


def evaluate(evaluator: Evaluator, rows: int, unexpected: int) -> Result:
    (result,) = evaluator.evaluate({expectation().id: (rows, unexpected)})
    return result


def test_as_many_as_may_be_are_enough() -> None:
    assert evaluate(Evaluator([expectation()]), 10, 1).success


def test_one_more_fails() -> None:
    result = evaluate(Evaluator([expectation()]), 10, 2)
    assert not result.success
    assert (result.rows, result.unexpected, result.observed) == (10, 2, 0.2)
    assert result.stops


def test_a_warning_stops_nothing() -> None:
    warned = expectation(severity=WARN)
    (result,) = Evaluator([warned]).evaluate({warned.id: (10, 10)})
    assert not result.success
    assert not result.stops


def test_no_rows_are_as_expected() -> None:
    assert evaluate(Evaluator([expectation(at_least=0)]), 0, 0).success


def test_too_few_rows_say_nothing_and_count_with_the_next() -> None:
    evaluator = Evaluator([expectation()])
    assert evaluate(evaluator, 9, 9).success
    result = evaluate(evaluator, 1, 0)
    assert (result.rows, result.unexpected, result.success) == (10, 9, False)


def test_rows_enough_by_themselves_are_not_thinned_by_those_before() -> None:
    evaluator = Evaluator([expectation()])
    evaluate(evaluator, 9, 0)
    assert evaluate(evaluator, 10, 2).rows == 10
    assert evaluate(evaluator, 9, 9).success, "what was kept is used up or passed over, not counted twice"


def test_what_was_decided_is_not_counted_again() -> None:
    evaluator = Evaluator([expectation()])
    evaluate(evaluator, 9, 0)
    evaluate(evaluator, 1, 0)
    assert evaluate(evaluator, 9, 9).rows == 9


def test_what_failed_is_looked_at_again_however_few_rows_it_is_about() -> None:
    evaluator = Evaluator([expectation()])
    (again,) = evaluator.evaluate_again({expectation().id: (3, 3)}, [expectation().id])
    assert again.stops
    (other,) = evaluator.evaluate_again({expectation().id: (3, 3)}, [])
    assert other.success


def test_what_is_forgotten_counts_no_more() -> None:
    evaluator = Evaluator([expectation()])
    evaluate(evaluator, 9, 9)
    evaluator.reset()
    assert evaluate(evaluator, 9, 0).rows == 9
