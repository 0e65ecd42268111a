"""Session settings for the next micro-batch, with a simulated session."""

from typing import Any, cast

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from lakehouse.run.job import JobContext
from lakehouse.run.query_tuning import LARGE_HISTORY_ROWS, SMALL_BATCH_ROWS, Tuning
from lakehouse.settings import load_settings

CODEGEN_MODE, SHUFFLE_PARTITIONS, FILE_PARTITIONS = (
    "spark.sql.codegen.factoryMode",
    "spark.sql.shuffle.partitions",
    "spark.sql.files.minPartitionNum",
)
SMALL_BATCH_SETTINGS = {CODEGEN_MODE: "NO_CODEGEN", SHUFFLE_PARTITIONS: "1", FILE_PARTITIONS: "1"}


class Conf:
    """The settings of a session, which it may reject."""

    def __init__(self, is_rejecting: bool = False, **values: str) -> None:
        self.values = dict(values)
        self._is_rejecting = is_rejecting

    def get(self, name: str, default: str | None) -> str | None:
        if self._is_rejecting:
            raise AnalysisException(f"{name} is not available")
        return self.values.get(name, default)

    def set(self, name: str, value: str) -> None:
        if self._is_rejecting:
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
    ("rows", "history_rows", "is_small"),
    [
        (0, 0, True),
        (SMALL_BATCH_ROWS - 1, LARGE_HISTORY_ROWS - 1, True),
        (SMALL_BATCH_ROWS, 0, False),
        (1, LARGE_HISTORY_ROWS, False),
    ],
)
def test_small_batch_with_small_history_runs_uncompiled_in_one_task(rows, history_rows, is_small):
    usual = {SHUFFLE_PARTITIONS: "8"}
    conf = Conf(**usual)
    Tuning(session(conf)).tune_for_batch(rows, history_rows)
    assert conf.values == (SMALL_BATCH_SETTINGS if is_small else usual)


def test_large_batch_after_small_one_restores_session_settings():
    usual = {CODEGEN_MODE: "FALLBACK", SHUFFLE_PARTITIONS: "8"}
    conf = Conf(**usual)
    tuning = Tuning(session(conf))
    tuning.tune_for_batch(1, 0)
    tuning.tune_for_batch(SMALL_BATCH_ROWS, 0)
    assert conf.values == usual


@pytest.mark.parametrize(
    ("rows", "history_rows", "is_coalesced"),
    [(SMALL_BATCH_ROWS - 1, 0, True), (1, LARGE_HISTORY_ROWS, True), (SMALL_BATCH_ROWS, 0, False)],
)
def test_small_batch_coalesces_writes_whatever_the_history(tmp_path, rows, history_rows, is_coalesced):
    run = JobContext("refine", session(Conf()), load_settings(home=tmp_path), once=True)
    run.tune_for_batch(rows, history_rows)
    assert run.lake.coalesce_writes == is_coalesced


def test_scan_restores_session_settings_and_coalesces_writes(tmp_path):
    usual = {CODEGEN_MODE: "FALLBACK", SHUFFLE_PARTITIONS: "8"}
    conf = Conf(**usual)
    run = JobContext("publish", session(conf), load_settings(home=tmp_path), once=False)
    run.tune_for_batch(1)
    run.tune_for_scan()
    assert {name: conf.values.get(name) for name in SMALL_BATCH_SETTINGS} == {
        **dict.fromkeys(SMALL_BATCH_SETTINGS),
        **usual,
    }
    assert run.lake.coalesce_writes


def test_tuning_ignores_settings_that_the_runtime_rejects():
    conf = Conf(is_rejecting=True)
    Tuning(session(conf)).tune_for_batch(1, 0)
    assert conf.values == {}
