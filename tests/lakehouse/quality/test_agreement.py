"""A job's evaluator and Great Expectations give the same results for the same rows."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lakehouse.quality.evaluation import Evaluator
from lakehouse.quality.history import History, RowCounts
from lakehouse.quality.metrics import IS_RECORD, SOURCE, SuiteMetrics, count_rows
from lakehouse.quality.report import Report
from lakehouse.quality.suites import Expectation

pytestmark = pytest.mark.long

TABLE = "silver.events"

OF_THE_GATE = {
    "too few rows": (True, "warn"),
    "enough rows": (False, "warn"),
    "as many as usual, and a margin": (True, "warn"),
    "more than usual": (False, "warn"),
    "without history": (False, "warn"),
}
"""Success and severity of expectations with rules that Great Expectations lacks."""


def expect(
    name: str, kind: str, column: str, mostly: float = 1.0, where: str | None = None, **reported: object
) -> Expectation:
    return Expectation(TABLE, name, f"expect_column_values_{kind}", "warn", column, reported, where, mostly)


EXPECTED = (
    expect("no null, none there", "to_not_be_null", "number"),
    expect("no null, some there", "to_not_be_null", "text"),
    expect("no null, few enough", "to_not_be_null", "text", 0.7),
    expect("null where it should be", "to_be_null", "text", where="number >= 8"),
    expect("null where it is not", "to_be_null", "text"),
    expect("between, at the bounds", "to_be_between", "number", min_value=0, max_value=9),
    expect("between, strictly", "to_be_between", "number", min_value=0, max_value=9, strict_min=True),
    expect("between, open above", "to_be_between", "number", min_value=0),
    expect("between, exactly as many as may be", "to_be_between", "number", 0.9, min_value=1),
    expect("between, one too many", "to_be_between", "number", 0.91, min_value=1),
    expect("between, of some", "to_be_between", "number", min_value=5, where="number > 4"),
    expect("in set, but for few", "to_be_in_set", "text", 0.8, value_set=["a", "it's", "EUR"]),
    expect("in set, with one missing", "to_be_in_set", "text", value_set=["a", "EUR"]),
    expect("truths in set", "to_be_in_set", "flag", 0.5, value_set=[False]),
    expect("not in set", "to_not_be_in_set", "text", value_set=["b"]),
    expect("not in set, but there", "to_not_be_in_set", "text", 0.5, value_set=["a", "EUR"]),
    expect("pattern", "to_match_regex", "text", regex="^[a-zA-Z']+$"),
    expect("pattern of few", "to_match_regex", "text", 0.3, regex="^[A-Z]{3}$"),
    expect("of no rows", "to_be_between", "number", min_value=99, where="number > 99"),
    replace(expect("too few rows", "to_be_null", "text", where="number < 2"), at_least=3),
    replace(expect("enough rows", "to_be_null", "text", where="number < 3"), at_least=3),
    replace(expect("as many as usual, and a margin", "to_not_be_null", "text"), margin=0.2),
    replace(expect("more than usual", "to_not_be_null", "text"), margin=0.1),
    replace(expect("without history", "to_be_null", "text"), margin=0.1, severity="stop"),
)  # fmt: skip


def usual() -> History:
    """A history in which 15 % of the rows violate each expectation but one."""
    history = History()
    for each in EXPECTED:
        if each.name != "without history":
            for _ in range(5):
                history.add(each, RowCounts(1000, 150))
    return history


def shown(home: Path) -> set[tuple[str, bool, str]]:
    """Id, success and severity of the results that the report shows, of which there is one for each suite."""
    (file,) = (home / "gx" / "uncommitted" / "validations").rglob("*.json")
    suite = json.loads(file.read_text())
    results = suite["results"]
    assert suite["statistics"]["successful_expectations"] == sum(each["success"] for each in results)
    metas = [(each["expectation_config"]["meta"], each["success"]) for each in results]
    return {(meta["id"], success, meta["severity"]) for meta, success in metas}


def test_evaluator_agrees_with_great_expectations(spark: SparkSession, tmp_path: Path) -> None:
    texts = ["a", "it's", "EUR", None, "a", "EUR", "EUR", "zebra", None, None]
    rows = [(number, text, number % 2 == 0) for number, text in enumerate(texts)]
    frame = spark.createDataFrame(rows, "number int, text string, flag boolean").coalesce(1)
    marked = frame.withColumns({SOURCE: F.lit(TABLE), IS_RECORD: F.lit(True)})
    counts, history = count_rows([(SuiteMetrics(EXPECTED), marked)]), usual()
    ours = {each.expectation.id: each for each in Evaluator(EXPECTED, history).evaluate(counts)}
    report = Report(tmp_path / "report")
    theirs = report.validate({TABLE: (frame, EXPECTED)}, "a run", {}, history)
    assert len(theirs) == len(EXPECTED)
    for each in theirs:
        mine = ours[each.expectation.id]
        assert each == mine, each.expectation.name
    wanted = {(each.expectation.id, each.success, each.severity) for each in theirs}
    assert shown(tmp_path / "report") == wanted
    decided = {each.expectation.name: (each.success, each.severity) for each in theirs}
    assert {name: decided[name] for name in OF_THE_GATE} == OF_THE_GATE
    files = [file for file in (tmp_path / "report").rglob("*") if file.is_file()]
    page = "".join(file.read_text() for file in files if file.suffix == ".html")
    assert "between, one too many" in page
    assert "EUR" in page, "of the set that is expected"
    assert [file for file in files if b"zebra" in file.read_bytes()] == []
