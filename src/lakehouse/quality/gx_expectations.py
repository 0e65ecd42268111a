"""Expectations and their results, in the terms of Great Expectations."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lakehouse.quality.evaluation import Result, result_of
from lakehouse.quality.history import History
from lakehouse.quality.suites import STOP, Expectation


def translate(gx: Any, expectation: Expectation) -> Any:
    """The expectation as an object of the library `gx`."""
    kind = "".join(part.capitalize() for part in expectation.kind.split("_"))
    made = getattr(gx.expectations, kind)
    meta = {"id": expectation.id, "severity": expectation.severity}
    arguments: dict[str, Any] = {**expectation.arguments, "meta": meta, "description": _describe(expectation)}
    arguments["severity"] = "critical" if expectation.severity == STOP else "warning"
    if expectation.column:
        arguments["column"] = expectation.column
    if expectation.mostly < 1:
        arguments["mostly"] = expectation.mostly
    if expectation.where:
        arguments |= {"row_condition": expectation.where, "condition_parser": "spark"}
    return made(**arguments)


def _describe(expectation: Expectation) -> str:
    """The expectation as a line; dollar signs are doubled for the library's template."""
    what = (
        expectation.kind.removeprefix("expect_").replace("_", " ").replace("column values to ", "values to ")
    )
    arguments = [
        f"{key.replace('_', ' ')} {_spoken(value)}"
        for key, value in expectation.arguments.items()
        if isinstance(value, (int, float, str, list)) and not isinstance(value, bool)
    ]
    parts = [what, *arguments, f"where {expectation.where}" if expectation.where else ""]
    details = ", ".join(part for part in (*parts, *_limits(expectation)) if part)
    return f"{expectation.name} ({expectation.severity}): {details}".replace("$", "$$")


def _limits(expectation: Expectation) -> Iterator[str]:
    if expectation.mostly < 1:
        yield f"{expectation.mostly:.0%} of rows at least"
    if expectation.margin is not None:
        yield f"or up to {expectation.margin:.0%} fewer than usual"
    if expectation.at_least:
        yield f"if there are {expectation.at_least:,} rows"


def _spoken(value: object) -> str:
    return " or ".join(map(str, value)) if isinstance(value, list) else str(value)


def results_of(validated: Any, expectations: Iterable[Expectation], history: History) -> list[Result]:
    """Results of a suite that Great Expectations has validated, decided by the rule of the gate.

    Great Expectations knows neither `at_least` nor `margin`, so the decisions replace its own.

    Args:
        validated: its result of the suite, which gets the decisions.
        expectations: those of the suite.
        history: what those with a margin are compared with.

    Returns:
        The result of each expectation.
    """
    by_id = {each.id: each for each in expectations}
    results = []
    for each in validated.results:
        meta = each.expectation_config.meta
        result = _result(by_id[meta["id"]], bool(each.success), dict(each.result), history)
        each.success, meta["severity"] = result.success, result.severity
        results.append(result)
    _count_successes(validated)
    return results


def _result(expectation: Expectation, success: bool, counts: Mapping[str, Any], history: History) -> Result:
    """By the counts; of an expectation that does not count rows, as Great Expectations has decided."""
    unexpected = counts.get("unexpected_count")
    if unexpected is None:
        number = counts.get("observed_value")
        return Result(expectation, success, 0, 0, float(number) if isinstance(number, (int, float)) else 0.0)
    rows = int(counts["element_count"])
    if not expectation.kind.endswith("_null"):
        rows -= int(counts.get("missing_count") or 0)
    return result_of(expectation, rows, int(unexpected), expectation.at_least, history.of(expectation))


def _count_successes(validated: Any) -> None:
    number, met = len(validated.results), sum(bool(each.success) for each in validated.results)
    validated.success = met == number
    validated.statistics |= {
        "successful_expectations": met,
        "unsuccessful_expectations": number - met,
        "success_percent": 100 * met / number,
    }
