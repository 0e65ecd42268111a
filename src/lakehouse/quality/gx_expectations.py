"""Expectations and their results, in the terms of Great Expectations."""

from collections.abc import Iterable, Mapping
from typing import Any

from lakehouse.quality.evaluation import Result
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
    share = f"{expectation.mostly:.0%} of rows at least" if expectation.mostly < 1 else ""
    details = ", ".join(part for part in (*parts, share) if part)
    return f"{expectation.name} ({expectation.severity}): {details}".replace("$", "$$")


def _spoken(value: object) -> str:
    return " or ".join(map(str, value)) if isinstance(value, list) else str(value)


def results_of(outcome: Any, expectations: Iterable[Expectation]) -> list[Result]:
    """Results of a checkpoint of Great Expectations."""
    by_id = {each.id: each for each in expectations}
    found = []
    for validated in outcome.run_results.values():
        for each in validated.results:
            expectation = by_id[each.expectation_config.meta["id"]]
            found.append(_result(expectation, bool(each.success), dict(each.result)))
    return found


def _result(expectation: Expectation, success: bool, counts: Mapping[str, Any]) -> Result:
    rows = int(counts.get("element_count") or 0)
    if not expectation.kind.endswith("_null"):
        rows -= int(counts.get("missing_count") or 0)
    unexpected = int(counts.get("unexpected_count") or 0)
    number = counts.get("observed_value")
    observed = unexpected / rows if rows else float(number) if isinstance(number, (int, float)) else 0.0
    return Result(expectation, success, rows, unexpected, observed)
