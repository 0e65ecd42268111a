"""Gold tables rebuilt in one run share their computed inputs."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from gold import rebuild_definitions
from gold.rebuild_definitions import RebuildInputs
from kit.pipeline import read_rows, run_jobs
from kit.planted import shop
from kit.records import NOON, Bronze
from kit.spark import empty_home
from lakehouse.run.job import JobContext


@pytest.mark.long
def test_rebuild_reuses_computed_visits_until_silver_changes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed = []
    all_visits = rebuild_definitions.all_visits

    def counted(*args: Any) -> Any:
        computed.append(args)
        return all_visits(*args)

    monkeypatch.setattr(rebuild_definitions, "all_visits", counted)
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    run = JobContext("rebuild", spark.newSession(), settings, once=True)
    for number in (1, 2):
        bronze.commit(shop(number, NOON + number * timedelta(hours=5), visitors=3))
        run_jobs(spark, settings)
        published = read_rows(settings, "gold.touches", ("touch_id",))
        for _ in range(2):
            assert RebuildInputs(run).touches().count() == len(published)
        assert len(computed) == number
