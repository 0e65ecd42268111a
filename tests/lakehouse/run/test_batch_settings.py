"""Session settings for the next micro-batch, with a simulated session."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import AnalysisException

from lakehouse.run.batch_settings import (
    INTERPRETED_ROWS,
    MOST_BROADCAST_KEYS,
    MOST_ROWS_PER_PARTITION,
    ROWS_PER_FILE,
    ROWS_PER_PARTITION,
    SMALL_BATCH_ROWS,
    BatchSettings,
)
from lakehouse.run.job import JobContext
from lakehouse.settings import load_settings

CODEGEN_MODE, SHUFFLE_PARTITIONS = "spark.sql.codegen.factoryMode", "spark.sql.shuffle.partitions"
SMALL_BATCH_SETTINGS = {"spark.sql.codegen.wholeStage": "false", "spark.sql.files.minPartitionNum": "1"}
INTERPRETED = {CODEGEN_MODE: "NO_CODEGEN", **SMALL_BATCH_SETTINGS}


class Conf:
    """The settings of a session, which it may reject."""

    def __init__(self, is_rejecting: bool = False, **values: str) -> None:
        self.values = dict(values)
        self._is_rejecting = is_rejecting

    def get(self, name: str, default: str | None) -> str | None:
        self._reject(name)
        return self.values.get(name, default)

    def set(self, name: str, value: str) -> None:
        self._reject(name)
        self.values[name] = value

    def unset(self, name: str) -> None:
        self.values.pop(name, None)

    def _reject(self, name: str) -> None:
        if self._is_rejecting:
            raise AnalysisException(f"{name} is not available")


def session(conf: Conf, cores: int = 4) -> Any:
    return SimpleNamespace(conf=conf, sparkContext=SimpleNamespace(defaultParallelism=cores))


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        (0, INTERPRETED),
        (INTERPRETED_ROWS - 1, INTERPRETED),
        (INTERPRETED_ROWS, SMALL_BATCH_SETTINGS),
        (SMALL_BATCH_ROWS - 1, SMALL_BATCH_SETTINGS),
        (SMALL_BATCH_ROWS, {}),
    ],
)
@pytest.mark.parametrize("before", [None, 0, INTERPRETED_ROWS, SMALL_BATCH_ROWS])
def test_small_batches_are_interpreted_or_compiled_by_operator(
    rows: int, wanted: dict[str, str], before: int | None
) -> None:
    conf = Conf()
    settings = BatchSettings(session(conf))
    if before is not None:
        settings.choose(before)
    settings.choose(rows)
    conf.values.pop(SHUFFLE_PARTITIONS)
    assert conf.values == wanted


def test_large_batch_after_small_one_restores_session_settings() -> None:
    conf = Conf(**{CODEGEN_MODE: "FALLBACK"})
    settings = BatchSettings(session(conf))
    settings.choose(1)
    settings.choose(SMALL_BATCH_ROWS)
    assert conf.values == {CODEGEN_MODE: "FALLBACK", SHUFFLE_PARTITIONS: "4"}


@pytest.mark.parametrize(
    ("rows", "read", "cores", "configured", "wanted"),
    [
        (0, 0, 48, None, "1"),
        (ROWS_PER_PARTITION - 1, 0, 48, None, "1"),
        (ROWS_PER_PARTITION, 0, 48, None, "2"),
        (3 * MOST_ROWS_PER_PARTITION - 1, 0, 1, None, "2"),
        (3 * MOST_ROWS_PER_PARTITION, 0, 1, None, "3"),
        (3 * MOST_ROWS_PER_PARTITION, 0, 48, None, "46"),
        (48 * MOST_ROWS_PER_PARTITION, 0, 48, None, "48"),
        (49 * MOST_ROWS_PER_PARTITION, 0, 48, None, "49"),
        (0, 3 * MOST_ROWS_PER_PARTITION - 1, 48, None, "2"),
        (0, 3 * MOST_ROWS_PER_PARTITION, 48, None, "3"),
        (1, 0, 48, 7, "7"),
        (1, 10**9, 48, 7, "7"),
    ],
)
def test_shuffle_has_partitions_of_setting_or_by_rows(
    rows: int, read: int, cores: int, configured: int | None, wanted: str
) -> None:
    conf = Conf()
    BatchSettings(session(conf, cores), configured).choose(rows, read)
    assert conf.values[SHUFFLE_PARTITIONS] == wanted


def test_many_keys_are_shuffled_until_the_next_batch() -> None:
    conf, hints = Conf(), "spark.sql.optimizer.disableHints"
    settings = BatchSettings(session(conf))
    settings.choose(10 * MOST_BROADCAST_KEYS, keys=MOST_BROADCAST_KEYS)
    assert hints not in conf.values, "rows of a micro-batch and few keys"
    settings.choose(1, keys=MOST_BROADCAST_KEYS + 1)
    assert conf.values[hints] == "true"
    settings.choose(1)
    assert hints not in conf.values


def test_settings_that_the_runtime_rejects_are_ignored() -> None:
    conf = Conf(is_rejecting=True)
    BatchSettings(session(conf)).choose(1)
    assert conf.values == {}


def test_shuffle_partitions_are_left_to_runtime_without_spark_context() -> None:
    conf: Any = Conf()
    BatchSettings(SimpleNamespace(conf=conf)).choose(SMALL_BATCH_ROWS)  # type: ignore[arg-type]
    assert conf.values == {}


@pytest.mark.parametrize(
    ("rows", "files"), [(0, 1), (ROWS_PER_FILE - 1, 1), (ROWS_PER_FILE, 1), (3 * ROWS_PER_FILE, 3)]
)
def test_append_writes_files_by_rows_of_the_batch(tmp_path: Path, rows: int, files: int) -> None:
    run = JobContext("refine", session(Conf()), load_settings(home=tmp_path), once=True)
    run.tune_for_batch(rows)
    assert run.lake.files_per_append == files
