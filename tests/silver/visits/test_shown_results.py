"""Shown search results through the jobs: late events, watermark, small and large batches, a rebuild."""

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kit.drawing import draw_examples
from kit.dying import dying_at
from kit.oracle import Oracle
from kit.oracle_wire import DAY, Fields
from kit.pipeline import assert_as_the_oracle, read_rows, run_jobs
from kit.records import NOON, Bronze, Record, heartbeat, instant, message, record
from kit.result_stories import RESULT_STORIES
from kit.spark import empty_home
from lakehouse.contracts.exposures import SEARCH_RESULTS
from lakehouse.delta.write_changes import write_changes
from lakehouse.run.job import JobContext
from lakehouse.run.rebuild import rebuild_job
from lakehouse.settings import Settings
from silver import refine, repair
from silver.rebuild_definitions import DEFINITIONS

pytestmark = pytest.mark.long

MINUTE = timedelta(minutes=1)
KINDS = {"search": "Products Searched", "results": "Product List Viewed", "result_click": "Product Clicked"}
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
SEARCHED, LISTED, OPENED = KINDS.values()

# On-time steps and late steps, each as kind, minute and properties; then the expected rows: by minute of
# the search, each product in order with its outcome.
A, AB = {"query": "boots", "products": ["a"]}, {"query": "boots", "products": ["a", "b"]}
Step = tuple[str, float, dict[str, Any]]
LATE: dict[str, tuple[list[Step], list[Step], dict[int, list[str]]]] = {
    "a list": ([(SEARCHED, 0, {"query": "boots"})], [(LISTED, 1, AB)], {0: ["a unclicked", "b unclicked"]}),
    "an earlier list": (
        [(SEARCHED, 0, {"query": "boots"}), (LISTED, 2, AB)],
        [(LISTED, 1, A)],
        {0: ["a unclicked"]},
    ),
    "a list a tick too late": ([(SEARCHED, 0, {"query": "boots"})], [(LISTED, 10, AB)], {}),
    "a search": ([(LISTED, 1, AB)], [(SEARCHED, 0, {"query": "boots"})], {0: ["a unclicked", "b unclicked"]}),
    "a search that takes a list over": (
        [(SEARCHED, 0, {"query": "boots"}), (LISTED, 3, A)],
        [(SEARCHED, 2, {"query": "boots"})],
        {2: ["a unclicked"]},
    ),
    "a search that takes a click over": (
        [(SEARCHED, 0, A), (OPENED, 3, {"product_id": "a"})],
        [(SEARCHED, 2, AB)],
        {0: ["a unclicked"], 2: ["a clicked", "b unclicked"]},
    ),
    "a click": ([(SEARCHED, 0, AB)], [(OPENED, 9.9, {"product_id": "b"})], {0: ["a unclicked", "b clicked"]}),
    "a click before the list": (
        [(SEARCHED, 0, {"query": "boots"}), (LISTED, 3, AB)],
        [(OPENED, 2, {"product_id": "b"})],
        {0: ["a unclicked", "b clicked"]},
    ),
}


def to_record(uid: str, visitor: str, kind: str, at: datetime, properties: dict[str, Any]) -> Record:
    products = properties.get("products")
    entries = products and [{} if product is None else {"product_id": product} for product in products]
    return record(message(uid, visitor, kind, at, properties={**properties, "products": entries}))


def seen(visitor: str) -> Record:
    return record(message(visitor, visitor, "Promotion Viewed", NOON, properties={"promotion_id": "p"}))


def records_of(story: str, steps: list[Step], prefix: str) -> list[Record]:
    return [
        to_record(f"{story}-{prefix}{number}", story, kind, NOON + minute * MINUTE, properties)
        for number, (kind, minute, properties) in enumerate(steps)
    ]


def shown_products(settings: Settings) -> dict[str, dict[int, list[str]]]:
    """By visitor and minute of the search, its rows in order of rank."""
    rows = read_rows(settings, SEARCH_RESULTS.name, SEARCH_RESULTS.column_names)
    by_story: dict[str, dict[int, list[str]]] = {}
    for row in sorted(rows, key=lambda row: row["rank"]):
        minute = (EPOCH + timedelta(microseconds=row["event_time"]) - NOON) // MINUTE
        shown = by_story.setdefault(row["visitor_id"], {}).setdefault(minute, [])
        shown.append(f"{row['product_id']} {row['outcome']}")
    return by_story


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of rows of the table that each commit changes."""
    counts: list[int] = []

    def count(lake: Any, table: Any, *args: Any) -> int:
        rows = write_changes(lake, table, *args)
        if table is SEARCH_RESULTS and rows:
            counts.append(rows)
        return rows

    for job in (refine, repair):
        monkeypatch.setattr(job, "write_changes", count)
    return counts


def test_late_events_and_watermark_update_shown_results(
    spark: SparkSession, tmp_path: Path, changed: list[int]
) -> None:
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    bronze.commit([each for story, (steps, _, _) in LATE.items() for each in records_of(story, steps, "a")])
    run_jobs(spark, settings, "refine", "repair")
    assert_as_the_oracle(settings, Oracle.over(bronze.stored), "silver")
    still_open = [row for row in Oracle.over(bronze.stored).search_results if row["is_open"]]
    bronze.commit([heartbeat(instant(NOON + 600 * MINUTE))])
    run_jobs(spark, settings, "refine", "repair")
    assert changed[-1] == len(still_open) > 0
    bronze.commit([heartbeat(instant(NOON + 601 * MINUTE))])
    before = len(changed)
    run_jobs(spark, settings, "refine", "repair")
    assert len(changed) == before, "nothing is due, and nothing written"
    bronze.commit([each for story, (_, late, _) in LATE.items() for each in records_of(story, late, "b")])
    run_jobs(spark, settings, "refine", "repair")
    assert shown_products(settings) == {story: rows for story, (_, _, rows) in LATE.items() if rows}
    assert_as_the_oracle(settings, Oracle.over(bronze.stored), "silver")


def test_events_on_time_change_results_that_were_clicked(spark: SparkSession, tmp_path: Path) -> None:
    """Steps that arrive after a result was clicked, but before the watermark has passed them."""
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    steps = {
        "an earlier click": [(SEARCHED, 0, AB), (OPENED, 3, {"product_id": "b"})],
        "a search between": [(SEARCHED, 0, AB), (OPENED, 3, {"product_id": "a"})],
        "no other": [(SEARCHED, 0, AB), (OPENED, 3, {"product_id": "a"})],
    }
    bronze.commit([each for story, those in steps.items() for each in records_of(story, those, "a")])
    run_jobs(spark, settings, "refine")
    later = {
        "an earlier click": [(OPENED, 2, {"product_id": "b"})],
        "a search between": [(SEARCHED, 1, {"query": "hats", "products": ["a"]})],
    }
    bronze.commit([each for story, those in later.items() for each in records_of(story, those, "b")])
    run_jobs(spark, settings, "refine")
    assert_as_the_oracle(settings, Oracle.over(bronze.stored), "silver")
    assert shown_products(settings) == {
        "an earlier click": {0: ["a open", "b clicked"]},
        "a search between": {0: ["a open", "b open"], 1: ["a clicked"]},
        "no other": {0: ["a clicked", "b open"]},
    }


@pytest.mark.long
def test_shown_results_match_oracle_after_interrupted_batch(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    bronze.commit([each for story, (steps, _, _) in LATE.items() for each in records_of(story, steps, "a")])
    run_jobs(spark, settings, "refine")
    new = [each for story, (_, late, _) in LATE.items() for each in records_of(story, late, "b")]
    bronze.commit([*new, seen("a promotion")])  # so that each of the other tables has the batch, too
    with dying_at(SEARCH_RESULTS.name):  # silver.events has the batch by then
        run_jobs(spark, settings, "refine")
    run_jobs(spark, settings, "refine")
    assert_as_the_oracle(settings, Oracle.over(bronze.stored), "silver")
    bronze.commit([heartbeat(instant(NOON + 30 * MINUTE))])
    run_jobs(spark, settings, "refine")
    assert shown_products(settings) == {story: rows for story, (_, _, rows) in LATE.items() if rows}


def generated_batches(stories: int) -> Iterator[list[Record]]:
    """Generated stories by batch, each story with visitors of its own."""
    drawn = draw_examples(RESULT_STORIES, stories, 1)
    for batch in range(3):
        yield [
            from_fields(f"s{number}-", event)
            for number, story in enumerate(drawn)
            for event in story.batches[batch]
        ]


def from_fields(prefix: str, event: Fields) -> Record:
    properties = {name: event[name] for name in ("query", "search_id", "product_id")}
    at = EPOCH + timedelta(microseconds=event["event_time"] % (100 * DAY))  # none lies in the future
    known = {**properties, "products": event["shown_products"]}
    return to_record(
        prefix + event["event_id"], prefix + event["visitor_id"], KINDS[event["role"]], at, known
    )


@pytest.mark.long
def test_shown_results_match_oracle_over_crashes_and_rebuild(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    for number, records in enumerate(generated_batches(25)):
        bronze.commit(records)
        if number:
            run_jobs(spark, settings, "refine")
            with dying_at(SEARCH_RESULTS.name):
                run_jobs(spark, settings, "repair")
        run_jobs(spark, settings, "refine", "repair")
        assert_as_the_oracle(settings, Oracle.over(bronze.stored), "silver")
    before = read_rows(settings, SEARCH_RESULTS.name, SEARCH_RESULTS.column_names)
    assert {row["outcome"] for row in before} >= {"clicked", "unclicked"}
    job = rebuild_job(DEFINITIONS, [SEARCH_RESULTS.name])
    job.body(JobContext(job.name, spark.newSession(), settings, once=True))
    after = read_rows(settings, SEARCH_RESULTS.name, SEARCH_RESULTS.column_names)
    assert sorted(map(repr, after)) == sorted(map(repr, before))
