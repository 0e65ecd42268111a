"""The quality gate before gold: which jobs, commands and rebuilds it stops, and which it does not."""

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
from lakehouse.bundle_file import BUNDLE_FILE, bundle_root
from lakehouse.errors import MillraceError
from lakehouse.run.job import JobContext, JobListener
from lakehouse.settings import Settings
from millrace.local.requests.engine_commands import REBUILD, RELEASE, EngineCommand
from millrace.operations.replay import replay_job

HOUR = timedelta(hours=1)
NUMBERED = "silver.events: orders have a number"


@pytest.fixture
def conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The conf of a bundle copy in which orders must have a number, however few there are."""
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
            del each["margin"]
    file.write_text(yaml.safe_dump(reported))
    monkeypatch.chdir(tmp_path / "bundle")
    return conf


def orders_without_number(seed: int, hours: float) -> list[Record]:
    return plant(shop(seed, NOON + hours * HOUR, visitors=2), 1, of_orders(order_id=lambda _: None))


def execute(spark: SparkSession, settings: Settings, command: EngineCommand) -> None:
    for stage in command.jobs():
        for job in stage.jobs:
            job.body(JobContext(job.name, spark.newSession(), settings, once=True))


def states(settings: Settings) -> list[str]:
    rows = read_rows(settings, "ops.gates", ("sequence", "state"))
    return [row["state"] for row in sorted(rows, key=lambda row: row["sequence"])]


class LogCollector(JobListener):
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.batches = 0

    def log(self, job: str, line: str) -> None:
        self.lines.append(line)

    def report_batch(self, job: str, rows: int, seconds: float) -> None:
        self.batches += 1


@pytest.mark.long
def test_gate_holds_publish_and_each_release_covers_only_its_own_rows(
    spark: SparkSession, tmp_path: Path, conf: Path
) -> None:
    """A running publish is held, released, held again by newer rows, and replayed; then gold is complete."""
    settings = empty_home(spark, tmp_path / "home", trigger_interval=timedelta(milliseconds=200))
    bronze = Bronze(spark, settings)
    watcher, stop = LogCollector(), threading.Event()
    run = JobContext("publish", spark.newSession(), settings, once=False, stop=stop, listener=watcher)
    thread = threading.Thread(target=publish, args=(run,))
    bronze.commit(orders_without_number(1, 0))
    run_jobs(spark, settings, "refine", "repair")
    thread.start()
    try:
        eventually(lambda: states(settings) == ["closed"], 60, "the gate is closed")
        bronze.commit(shop(2, NOON + 3 * HOUR, visitors=2) + orders_without_number(3, 3))
        run_jobs(spark, settings, "refine", "repair")
        with pytest.raises(MillraceError, match="the gate before gold is closed"):
            execute(spark, settings, EngineCommand(REBUILD, ["gold.conversions"]))
        assert read_rows(settings, "gold.conversions", ("event_id",)) == []
        execute(spark, settings, EngineCommand(RELEASE, ("Ada", "a test")))
        eventually(lambda: states(settings)[1:] == ["released", "closed"], 60, "closed by what came since")
        assert read_rows(settings, "gold.conversions", ("event_id",)) == []
        _remove_failed_expectation(conf)
        job = replay_job("Ada", "mended")
        job.body(JobContext(job.name, spark.newSession(), settings, once=True))
        assert states(settings)[3:] == ["replayed", "opened"]
        eventually(lambda: watcher.batches > 0, 60, "publish goes on")
    finally:
        stop.set()
        thread.join(60)
    run_jobs(spark, settings)
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))
    assert sum(NUMBERED in line for line in watcher.lines) == 2, "each closing is logged once"
    with pytest.raises(MillraceError, match="nothing is held"):
        execute(spark, settings, EngineCommand(RELEASE, ("Ada", "again")))


def _remove_failed_expectation(conf: Path) -> None:
    """Remove the expectation that closed the gate."""
    file = conf / "expectations" / "silver.events.yml"
    reported = yaml.safe_load(file.read_text())
    reported["expectations"] = [
        each for each in reported["expectations"] if each["name"] != "orders have a number"
    ]
    file.write_text(yaml.safe_dump(reported))


@pytest.mark.long
def test_replay_with_open_gate_updates_published_rows(
    spark: SparkSession, tmp_path: Path, conf: Path
) -> None:
    settings = empty_home(spark, tmp_path / "home")
    bronze = Bronze(spark, settings)
    bronze.commit([*shop(1, visitors=2), record(message("v", "v-x", "Signed Up", NOON))])
    run_jobs(spark, settings)
    _ignore_order_totals(conf)
    job = replay_job("Ada", "mended")
    job.body(JobContext(job.name, spark.newSession(), settings, once=True))
    values = [row["value"] for row in read_rows(settings, "gold.conversions", ("value",))]
    assert values == [None] * 5
    assert states(settings) == []


@pytest.mark.long
def test_release_after_failed_replay_updates_published_rows(
    spark: SparkSession, tmp_path: Path, conf: Path
) -> None:
    """The replay rebuilt silver by rules that gold does not apply yet."""
    settings = empty_home(spark, tmp_path / "home")
    bronze = Bronze(spark, settings)
    bronze.commit(shop(1, visitors=2))
    run_jobs(spark, settings)
    bronze.commit(orders_without_number(2, 3))
    run_jobs(spark, settings, "refine", "repair")
    with pytest.raises(MillraceError, match="gold is held"):
        run_jobs(spark, settings, "publish")
    _ignore_order_totals(conf)
    job = replay_job("Ada", "mended")
    with pytest.raises(MillraceError, match="still not as expected"):
        job.body(JobContext(job.name, spark.newSession(), settings, once=True))
    execute(spark, settings, EngineCommand(RELEASE, ("Ada", "a test")))
    run_jobs(spark, settings, "publish")
    values = [row["value"] for row in read_rows(settings, "gold.conversions", ("value",))]
    assert values == [None] * 8
    assert states(settings) == ["closed", "replayed", "closed", "replayed", "released"]


def _ignore_order_totals(conf: Path) -> None:
    file = conf / "roles.yml"
    rules = yaml.safe_load(file.read_text())
    rules["tracks"]["Order Completed"]["money"] = ["nothing"]
    file.write_text(yaml.safe_dump(rules, sort_keys=False))


@pytest.mark.long
def test_gate_with_unsupported_expectation_publishes_nothing(
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
