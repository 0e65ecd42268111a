"""The cases of late.yml through the real jobs, including those that must fail."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kit.pipeline import read_rows, run_jobs
from kit.records import Bronze
from kit.spark import empty_home
from kit.transcripts import Case, by_clock, clock, read_cases
from lakehouse.contracts import TABLES

pytestmark = pytest.mark.long

CASES = read_cases(Path(__file__).with_name("late.yml"))
Tables = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tables]:
    """By case, the rows of its expected tables after the last batch."""
    found = {}
    for watermarks, cases in by_clock(CASES).items():
        settings = empty_home(spark, tmp_path_factory.mktemp("late"))
        bronze = Bronze(spark, settings)
        for number, watermark in enumerate(watermarks):
            bronze.commit([each for case in cases for each in case.records(number)] + [clock(watermark)])
            run_jobs(spark, settings, "refine", "repair")
        for name in {table for case in cases for table in case.expect}:
            rows = read_rows(settings, name, TABLES[name].column_names)
            for case in cases:
                found.setdefault(case.name, {})[name] = rows
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_late_events_give_expected_silver_rows(tables: dict[str, Tables], case: Case) -> None:
    reported = [case.difference(table, tables[case.name][table]) for table in case.expect]
    differences = "\n".join(each for each in reported if each)
    if case.must_fail:
        assert differences, "a wrong expectation was not detected"
    else:
        assert not differences, differences
