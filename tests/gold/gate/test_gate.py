"""The gate as jobs, commands and rebuilds meet it: who is stopped by it, and who is not."""

import shutil
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from gold.publish_job import publish
from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, read_rows, run_jobs
from kit.planted import of_orders, plant, shop
from kit.polling import eventually
from kit.records import NOON, Bronze, Record, message, record
from kit.spark import empty_home
from lakehouse.errors import MillraceError
from lakehouse.run.job import JobContext, JobListener
from lakehouse.settings import BUNDLE_FILE, Settings, bundle_root
from millrace.local.requests.engine_commands import REBUILD, RELEASE, EngineCommand
from millrace.operations.replay import replay_job

HOUR = timedelta(hours=1)
NUMBERED = "silver.events: orders have a number"


@pytest.fixture
def conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundle of the test's own, in which each order must have a number, however few there are."""
    root = bundle_root()
    assert root is not None
    conf = tmp_path / "bundle" / "conf"
    shutil.copytree(root / "conf", conf)
    shutil.copy(root / BUNDLE_FILE, tmp_path / "bundle")
    file = conf / "expectations" / "silver.events.yml"
    reported: dict[str, Any] = yaml.safe_load(file.read_text())
    for each in reported["expectations"]:
        if each["name"] == "orders have a number":
            each["at_least"] = 1
    file.write_text(yaml.safe_dump(reported))
    monkeypatch.chdir(tmp_path / "bundle")
    return conf


def faulty(seed: int, hours: float) -> list[Record]:
    return plant(shop(seed, NOON + hours * HOUR, visitors=2), 1, of_orders(order_id=lambda _: None))


def carry_out(spark: SparkSession, settings: Settings, order: EngineCommand) -> None:
    for ordered in order.jobs():
        for job in ordered.jobs:
            job.body(JobContext(job.name, spark.newSession(), settings, once=True))


def states(settings: Settings) -> list[str]:
    rows = read_rows(settings, "ops.gates", ("sequence", "state"))
    return [row["state"] for row in sorted(rows, key=lambda row: row["sequence"])]


class Lines(JobListener):
    def __init__(self) -> None:
        self.said: list[str] = []
        self.batches = 0

    def log(self, job: str, line: str) -> None:
        self.said.append(line)

    def report_batch(self, job: str, rows: int, seconds: float) -> None:
        self.batches += 1


@pytest.mark.long
def test_a_gate_holds_all_that_silver_has_and_each_decision_is_about_its_own_rows(
    spark: SparkSession, tmp_path: Path, conf: Path
) -> None:
    """One running publish: held, released, held by what came since, replayed; at the end all is in."""
    settings = empty_home(spark, tmp_path / "home", trigger_interval=timedelta(milliseconds=200))
    bronze = Bronze(spark, settings)
    watcher, stop = Lines(), threading.Event()
    run = JobContext("publish", spark.newSession(), settings, once=False, stop=stop, listener=watcher)
    thread = threading.Thread(target=publish, args=(run,))
    bronze.commit(faulty(1, 0))
    run_jobs(spark, settings, "refine", "repair")
    thread.start()
    try:
        eventually(lambda: states(settings) == ["closed"], 60, "the gate is closed")
        bronze.commit(shop(2, NOON + 3 * HOUR, visitors=2) + faulty(3, 3))
        run_jobs(spark, settings, "refine", "repair")
        with pytest.raises(MillraceError, match="the gate before gold is closed"):
            carry_out(spark, settings, EngineCommand(REBUILD, ["gold.conversions"]))
        assert read_rows(settings, "gold.conversions", ("event_id",)) == []
        carry_out(spark, settings, EngineCommand(RELEASE, ("Ada", "a test")))
        eventually(lambda: states(settings)[1:] == ["released", "closed"], 60, "closed by what came since")
        assert read_rows(settings, "gold.conversions", ("event_id",)) == []
        _let_orders_be(conf)
        job = replay_job("Ada", "mended")
        job.body(JobContext(job.name, spark.newSession(), settings, once=True))
        assert states(settings)[3:] == ["replayed", "opened"]
        eventually(lambda: watcher.batches > 0, 60, "publish goes on")
    finally:
        stop.set()
        thread.join(60)
    run_jobs(spark, settings)
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))
    assert sum(NUMBERED in line for line in watcher.said) == 2, "each closing is told once"
    with pytest.raises(MillraceError, match="nothing is held"):
        carry_out(spark, settings, EngineCommand(RELEASE, ("Ada", "again")))


def _let_orders_be(conf: Path) -> None:
    """It was the expectation that was wrong."""
    file = conf / "expectations" / "silver.events.yml"
    reported = yaml.safe_load(file.read_text())
    reported["expectations"] = [
        each for each in reported["expectations"] if each["name"] != "orders have a number"
    ]
    file.write_text(yaml.safe_dump(reported))


@pytest.mark.long
def test_a_replay_with_an_open_gate_brings_published_rows_after(
    spark: SparkSession, tmp_path: Path, conf: Path
) -> None:
    settings = empty_home(spark, tmp_path / "home")
    bronze = Bronze(spark, settings)
    bronze.commit([*shop(1, visitors=2), record(message("v", "v-x", "Signed Up", NOON))])
    run_jobs(spark, settings)
    _take_no_money(conf)
    job = replay_job("Ada", "mended")
    job.body(JobContext(job.name, spark.newSession(), settings, once=True))
    values = [row["value"] for row in read_rows(settings, "gold.conversions", ("value",))]
    assert values == [None] * 5
    assert states(settings) == []


@pytest.mark.long
def test_a_release_after_a_replay_that_was_in_vain_brings_published_rows_after(
    spark: SparkSession, tmp_path: Path, conf: Path
) -> None:
    """The replay has made silver anew by rules that gold has not seen yet."""
    settings = empty_home(spark, tmp_path / "home")
    bronze = Bronze(spark, settings)
    bronze.commit(shop(1, visitors=2))
    run_jobs(spark, settings)
    bronze.commit(faulty(2, 3))
    run_jobs(spark, settings, "refine", "repair")
    with pytest.raises(MillraceError, match="gold is held"):
        run_jobs(spark, settings, "publish")
    _take_no_money(conf)
    job = replay_job("Ada", "mended")
    with pytest.raises(MillraceError, match="still not as expected"):
        job.body(JobContext(job.name, spark.newSession(), settings, once=True))
    carry_out(spark, settings, EngineCommand(RELEASE, ("Ada", "a test")))
    run_jobs(spark, settings, "publish")
    values = [row["value"] for row in read_rows(settings, "gold.conversions", ("value",))]
    assert values == [None] * 8
    assert states(settings) == ["closed", "replayed", "closed", "replayed", "released"]


def _take_no_money(conf: Path) -> None:
    file = conf / "roles.yml"
    rules = yaml.safe_load(file.read_text())
    rules["tracks"]["Order Completed"]["money"] = ["nothing"]
    file.write_text(yaml.safe_dump(rules, sort_keys=False))


def test_a_gate_that_can_not_be_asked_lets_nothing_through(
    spark: SparkSession, tmp_path: Path, conf: Path
) -> None:
    settings = empty_home(spark, tmp_path / "home")
    bronze = Bronze(spark, settings)
    bronze.commit(shop(1, visitors=1))
    run_jobs(spark, settings, "refine", "repair")
    file = conf / "expectations" / "silver.impressions.yml"
    kind = "expect_column_values_to_be_unique"
    reported = {"name": "a name", "expect": kind, "column": "event_id", "severity": "stop"}
    file.write_text(yaml.safe_dump({"expectations": [reported]}))
    with pytest.raises(MillraceError, match="a micro-batch cannot evaluate"):
        run_jobs(spark, settings, "publish")
    assert read_rows(settings, "gold.conversions", ("event_id",)) == []
