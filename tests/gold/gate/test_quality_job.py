"""The quality job: Great Expectations over recent rows, its report in a browser, its run in MLflow."""

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from playwright.sync_api import expect, sync_playwright
from pyspark.sql import SparkSession

from gold.gate.quality_job import check_quality, count_erased
from gold.models.mlflow_client import quiet_mlflow
from kit.browser import FLAGS, chromium
from kit.gate_history import add_history
from kit.pipeline import read_rows, run_jobs
from kit.planted import of_orders, plant, rates, shop
from kit.records import NOON, Bronze
from kit.running_dashboard import served
from kit.spark import empty_home
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.ops import ERASED_RECORDS
from lakehouse.contracts.silver import EVENTS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.erasure.blank_records import PLACE
from lakehouse.erasure.delete_records import delete_records
from lakehouse.errors import MillraceError
from lakehouse.quality.report import KEPT
from lakehouse.run.job import JobContext
from lakehouse.settings import Settings

pytestmark = pytest.mark.long

DEADLINE = 60  # seconds
NUMBERED = "orders have a number"


def list_erased(lake: Lakehouse, rows: list[dict[str, Any]]) -> None:
    """Append rows to ops.erased_records."""
    table = pa.Table.from_pylist(rows, arrow_schema(ERASED_RECORDS))
    lake.append(ERASED_RECORDS.name, table)


def test_erased_records_are_those_of_the_batches_that_silver_no_longer_has(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = empty_home(spark, tmp_path)
    lake, later = Lakehouse(spark.newSession(), settings, "quality"), NOON + timedelta(hours=1)
    records = spark.createDataFrame([("events", 0, 1)], "topic STRING, partition INT, offset BIGINT")
    assert count_erased(lake, records, NOON, later) == 0
    of_events = [
        {"offset": 1, "record_class": "event"},  # listed, and still there
        {"offset": 2, "record_class": "event"},
        {"offset": 3, "record_class": "duplicate"},
        {"offset": 4, "record_class": "rejected"},
        {"offset": 5, "record_class": "arrived"},  # dropped on arrival, as the ledger says
        {"offset": 6, "record_class": "event", "ingested_at": NOON},
        {"offset": 7, "record_class": "event", "ingested_at": later + timedelta(seconds=1)},
    ]
    others = [
        {"topic": topic, "offset": 8, "record_class": "rejected"}
        for topic in (*settings.side_topics, settings.shop_changes_topic)
    ]
    place = {"topic": "events", "partition": 0, "ingested_at": later}
    list_erased(lake, [{**place, **each} for each in (*of_events, *others)])
    assert count_erased(lake, records, NOON, later) == 3


@pytest.fixture(scope="module")
def checked(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A home whose gate is closed by orders without a number, after a run of the quality job."""
    settings = empty_home(spark, tmp_path_factory.mktemp("quality"))
    bronze = Bronze(spark, settings)
    bronze.commit(rates() + shop(1))
    run_jobs(spark, settings)
    add_history(spark, settings, f"silver.events: {NUMBERED}")
    bronze.commit(plant(shop(2, NOON + timedelta(hours=2)), 0.5, of_orders(order_id=lambda _: None)))
    run_jobs(spark, settings, "refine", "repair")
    with pytest.raises(MillraceError, match=NUMBERED):
        run_jobs(spark, settings, "publish")
    check_quality(JobContext("quality", spark.newSession(), settings, once=True))
    return settings


def test_quality_job_finds_the_failure_that_closed_the_gate(checked: Settings) -> None:
    columns = ("job", "table", "name", "success", "severity", "unexpected_count", "rows")
    rows = read_rows(checked, "ops.expectations", columns)
    failed = {job: {row["name"] for row in rows if row["job"] == job and not row["success"]}
              for job in ("publish", "quality")}  # fmt: skip
    assert failed["publish"] == {NUMBERED}
    of_all = [row for row in rows if row["job"] == "quality"]
    assert {row["table"] for row in of_all} > {"silver.events", "gold.conversions", "gold.attribution"}
    assert failed["quality"] == {NUMBERED, "something has come within a day"}, "the test's clock stands still"
    (unexpected,) = [row["unexpected_count"] for row in of_all if row["name"] == NUMBERED]
    assert unexpected > 100


def test_quality_run_is_recorded_in_mlflow(checked: Settings) -> None:
    with quiet_mlflow(checked) as mlflow:
        client = mlflow.MlflowClient()
        (run,) = client.search_runs([client.get_experiment_by_name("quality").experiment_id])
        offsets = mlflow.artifacts.load_dict(f"{run.info.artifact_uri}/offsets.json")
    assert offsets == {"events/0": [2, 2401], "exchange_rates/0": [0, 1]}
    assert run.data.params["offsets/events/0"] == "2-2401"
    metrics, tags = run.data.metrics, run.data.tags
    assert (metrics["rows/input_rows"], metrics["rows/output_rows"]) == (2400, 2400)
    assert metrics["seconds/refine.mean"] > 0
    assert metrics["expectations_failed"] == 2
    assert metrics[f"expectations/silver.events/{NUMBERED}"] > 0.2
    assert len(tags["git_revision"]) == 40
    assert tags["version.pyspark"].startswith("4.")


def test_report_contains_no_visitor_ids_and_stays_small(checked: Settings) -> None:
    pages = list((checked.quality / "report").rglob("*.html"))
    kept = list((checked.quality / "gx" / "uncommitted" / "validations").rglob("*.json"))
    texts = [file.read_text() for file in (*pages, *kept)]
    assert any(NUMBERED in text for text in texts)
    for value in ("v-1-", "v-2-", "o-1-", "o-2-", "1-0-page"):
        assert not any(value in text for text in texts), value
    assert len(kept) <= KEPT * 10


@pytest.mark.browser
def test_report_opens_from_the_quality_page(checked: Settings, tmp_path: Path) -> None:
    folder = Path(os.environ.get("MILLRACE_TEST_PICTURES", tmp_path))
    with served(checked.home) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            page = browser.new_page(viewport={"width": 1200, "height": 800})
            page.set_default_timeout(DEADLINE * 1000)
            page.goto(f"{address}quality")
            link = page.get_by_role("link", name="Open the reports (Data Docs)")
            with page.context.expect_page() as opened:
                link.click()
            report, elsewhere = opened.value, list[str]()
            report.on("request", lambda request: elsewhere.append(request.url))
            suite = report.get_by_role("link", name="silver.events", exact=True).first
            expect(suite).to_be_visible()
            report.screenshot(path=folder / "report.png")
            suite.click()
            expect(report.get_by_text("currencies are currencies")).to_be_visible()
            report.get_by_label("Failed only").check()
            expect(report.get_by_text("currencies are currencies")).to_be_hidden()
            expect(report.get_by_text(f"{NUMBERED} (stop): values to not be null")).to_be_visible()
            expect(report.get_by_role("heading", name="order_id")).to_be_visible()
            report.screenshot(path=folder / "report-failed.png")
            assert [url for url in elsewhere if not url.startswith(("http://127.0.0.1:", "data:"))] == []
        finally:
            browser.close()


def test_second_quality_run_after_an_erasure_finds_the_same_failures(
    checked: Settings, spark: SparkSession
) -> None:
    lake = Lakehouse(spark.newSession(), checked, "erase")
    theirs = lake.read(EVENTS.name).where("goal IS NULL").limit(3).select(*PLACE, "ingested_at").collect()
    list_erased(lake, [{**row.asDict(), "record_class": "event"} for row in theirs])
    delete_records(lake, EVENTS, lake.read(ERASED_RECORDS.name).select(*PLACE), NOON)
    check_quality(JobContext("quality", spark.newSession(), checked, once=True))
    rows = read_rows(checked, "ops.expectations", ("job", "name", "unexpected_count", "success"))
    of_records = "every record is an event, a copy or refused"
    assert {row["success"] for row in rows if row["name"] == of_records} == {True}
    counts = [row["unexpected_count"] for row in rows if (row["job"], row["name"]) == ("quality", NUMBERED)]
    assert len(counts) == 2
    assert len(set(counts)) == 1
    with quiet_mlflow(checked) as mlflow:
        client = mlflow.MlflowClient()
        assert len(client.search_runs([client.get_experiment_by_name("quality").experiment_id])) == 2
