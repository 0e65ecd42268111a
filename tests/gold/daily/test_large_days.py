"""Days with too many events for a checkpoint, and more persons to update than are broadcast."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from gold.daily import update
from kit.deliveries import cut, deliver
from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, run_jobs
from kit.records import Bronze
from kit.spark import empty_home
from lakehouse.run import batch_settings

pytestmark = pytest.mark.long


def test_days_without_checkpoint_in_many_partitions_and_shuffled_keys_equal_the_oracle(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update, "MOST_CHECKPOINTED", 20)
    monkeypatch.setattr(batch_settings, "MOST_ROWS_PER_PARTITION", 20)
    monkeypatch.setattr(batch_settings, "MOST_BROADCAST_KEYS", 20)
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    for records in cut(deliver(60, 7), 3, 7):
        bronze.commit(records)
        run_jobs(spark, settings)
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))
