"""Summaries that are updated beside the micro-batches of publish equal the oracle in the end."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from gold.daily.update import Daily
from gold.publish_job import publish
from kit.deliveries import cut, deliver
from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, run_jobs
from kit.polling import eventually
from kit.records import Bronze
from kit.spark import empty_home
from lakehouse.contracts.daily import CAMPAIGN_PERFORMANCE
from lakehouse.contracts.gold import ATTRIBUTION
from lakehouse.run.job import JobContext
from lakehouse.settings import Settings
from lakehouse.timestamps import to_micros

pytestmark = pytest.mark.long
MOMENT = timedelta(milliseconds=200)
SECONDS = 400


def commits_of(settings: Settings, name: str) -> list[tuple[int, int]]:
    """Time of each commit of publish in milliseconds, and its high-water mark in microseconds."""
    table = DeltaTable(settings.warehouse.joinpath(*name.split(".")))
    noted: list[tuple[int, Any]] = [
        (each["timestamp"], json.loads(each.get("userMetadata") or "{}")) for each in table.history()
    ]
    return [(at, metadata["upto"]) for at, metadata in noted if "upto" in metadata]


class SecondUpdate:
    """The second update of daily tables, which runs beside micro-batches: it waits for newer credit."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._update = Daily.update
        self.calls = 0

    def __call__(self, *given: Any, **more: Any) -> None:
        upto = to_micros(given[4])
        self.calls += 1
        if self.calls == 2:
            eventually(lambda: self._credit() > upto, SECONDS, "newer credit is published")
        self._update(*given, **more)

    def _credit(self) -> int:
        return max(upto for _, upto in commits_of(self._settings, ATTRIBUTION.name))


def test_summaries_beside_micro_batches_equal_the_oracle(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = empty_home(spark, tmp_path).model_copy(
        update={"summary_interval": timedelta(0), "trigger_interval": MOMENT}
    )
    bronze, stop = Bronze(spark, settings), threading.Event()
    second = SecondUpdate(settings)

    def update(*given: Any, **more: Any) -> None:
        second(*given, **more)

    monkeypatch.setattr(Daily, "update", update)
    run = JobContext("publish", spark.newSession(), settings, once=False, stop=stop)

    def is_as_the_oracle() -> bool:
        if job.done():  # with its error
            job.result()
        try:
            assert_as_the_oracle(settings, Oracle.over(bronze.stored))
        except (AssertionError, OSError):
            return False
        return True

    with ThreadPoolExecutor(1) as threads:
        job = threads.submit(publish, run)
        try:
            for number, records in enumerate(cut(deliver(60, 7), 5, 7), start=1):
                bronze.commit(records)
                run_jobs(spark, settings, "refine", "repair")
                updates = min(number, 2)
                eventually(lambda: job.done() or second.calls >= updates, SECONDS, "daily tables are updated")  # noqa: B023
            eventually(is_as_the_oracle, SECONDS, "the tables equal the oracle")
        finally:
            stop.set()
    credit, daily = (commits_of(settings, table.name) for table in (ATTRIBUTION, CAMPAIGN_PERFORMANCE))
    assert any(now < at and upto > mark for at, mark in daily for now, upto in credit), "none ran beside"
