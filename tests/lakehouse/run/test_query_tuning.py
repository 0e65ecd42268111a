"""What a session is told of a micro-batch to come, without Spark."""

from typing import Any, cast

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from lakehouse.run.job import JobContext
from lakehouse.run.query_tuning import LARGE_HISTORY_ROWS, SMALL_BATCH_ROWS, Tuning
from lakehouse.settings import load_settings

MODE, SHUFFLED, READ = (
    "spark.sql.codegen.factoryMode",
    "spark.sql.shuffle.partitions",
    "spark.sql.files.minPartitionNum",
)
FOR_FEW = {MODE: "NO_CODEGEN", SHUFFLED: "1", READ: "1"}


class Conf:
    """The settings of a session."""

    def __init__(self, refuses: bool = False, **values: str) -> None:
        self.values = dict(values)
        self._refuses = refuses

    def get(self, name: str, default: str | None) -> str | None:
        if self._refuses:
            raise AnalysisException(f"{name} is not available")
        return self.values.get(name, default)

    def set(self, name: str, value: str) -> None:
        if self._refuses:
            raise AnalysisException(f"{name} is not available")
        self.values[name] = value

    def unset(self, name: str) -> None:
        self.values.pop(name, None)


def session(conf: Conf) -> SparkSession:
    class Session:
        pass

    found: Any = Session()
    found.conf = conf
    return cast("SparkSession", found)


@pytest.mark.parametrize(
    ("rows", "behind", "few"),
    [
        (0, 0, True),
        (SMALL_BATCH_ROWS - 1, LARGE_HISTORY_ROWS - 1, True),
        (SMALL_BATCH_ROWS, 0, False),
        (1, LARGE_HISTORY_ROWS, False),
    ],
)
def test_few_rows_with_few_behind_them_are_interpreted_in_one_task(rows, behind, few):
    usual = {SHUFFLED: "8"}
    conf = Conf(**usual)
    Tuning(session(conf)).tune_for_batch(rows, behind)
    assert conf.values == (FOR_FEW if few else usual)


def test_many_rows_after_few_find_the_session_as_it_was():
    usual = {MODE: "FALLBACK", SHUFFLED: "8"}
    conf = Conf(**usual)
    tuning = Tuning(session(conf))
    tuning.tune_for_batch(1, 0)
    tuning.tune_for_batch(SMALL_BATCH_ROWS, 0)
    assert conf.values == usual


@pytest.mark.parametrize(
    ("rows", "behind", "one"),
    [(SMALL_BATCH_ROWS - 1, 0, True), (1, LARGE_HISTORY_ROWS, True), (SMALL_BATCH_ROWS, 0, False)],
)
def test_what_few_rows_add_is_one_file_however_long_the_history(tmp_path, rows, behind, one):
    run = JobContext("refine", session(Conf()), load_settings(home=tmp_path), once=True)
    run.tune_for_batch(rows, behind)
    assert run.lake.coalesce_writes == one


def test_who_sums_up_reads_much_and_writes_little(tmp_path):
    usual = {MODE: "FALLBACK", SHUFFLED: "8"}
    conf = Conf(**usual)
    run = JobContext("publish", session(conf), load_settings(home=tmp_path), once=False)
    run.tune_for_batch(1)
    run.tune_for_scan()
    assert {name: conf.values.get(name) for name in FOR_FEW} == {**dict.fromkeys(FOR_FEW), **usual}
    assert run.lake.coalesce_writes


def test_a_runtime_that_refuses_goes_on_as_it_is():
    conf = Conf(refuses=True)
    Tuning(session(conf)).tune_for_batch(1, 0)
    assert conf.values == {}
