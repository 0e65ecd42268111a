"""Late events update impressions and searches."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, read_rows, run_jobs
from kit.records import NOON, Bronze, Record, heartbeat, instant, message, record
from kit.spark import empty_home

pytestmark = pytest.mark.long

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
SEEN, CLICKED = "Promotion Viewed", "Promotion Clicked"
SEARCHED, OPENED = "Products Searched", "Product Clicked"

# On-time steps and late steps, each as kind and second; then the expected outcomes and clicks, in order.
LATE = {
    "an impression claims an orphan": ([(CLICKED, 60)], [(SEEN, 0)], [("clicked", 1)]),
    "a click exactly at the end stays alone": (
        [(CLICKED, 1800)],
        [(SEEN, 0)],
        [("unclicked", 0), ("orphan", 1)],
    ),
    "a click turns an unclicked impression": ([(SEEN, 0)], [(CLICKED, 60)], [("clicked", 1)]),
    "a click before a counted one shifts which count": (
        [(SEEN, 0), (CLICKED, 100), (CLICKED, 109), (CLICKED, 118)],
        [(CLICKED, 95)],
        [("clicked", 2)],
    ),
    "a shift goes on through later impressions": (
        [(SEEN, 0), *((CLICKED, 9 * n) for n in range(1, 300)), (SEEN, 2500)],
        [(CLICKED, 5)],
        [("clicked", 100), *[("orphan", 1)] * 39, ("clicked", 11)],
    ),
    "an impression takes clicks over": (
        [(SEEN, 0), (CLICKED, 60), (CLICKED, 600)],
        [(SEEN, 300)],
        [("clicked", 1), ("clicked", 1)],
    ),
    "a click that does not count waits with another row": (
        [(SEEN, 0), (CLICKED, 50), (SEEN, 52), (CLICKED, 58)],
        [(CLICKED, 45)],
        [("clicked", 1), ("clicked", 1)],
    ),
    "a search claims an orphan": ([(OPENED, 60), (OPENED, 61)], [(SEARCHED, 0)], [("clicked", 2)]),
    "a click on a result comes late": ([(SEARCHED, 0)], [(OPENED, 599)], [("clicked", 1)]),
    "a click on a result comes too late": (
        [(SEARCHED, 0)],
        [(OPENED, 600)],
        [("unclicked", 0), ("orphan", 1)],
    ),
    "a search takes clicks over": (
        [(SEARCHED, 0), (OPENED, 60), (OPENED, 120)],
        [(SEARCHED, 90)],
        [("clicked", 1), ("clicked", 1)],
    ),
}


def records_of(story: str, steps: list[tuple[str, int]], prefix: str) -> list[Record]:
    records = []
    for number, (kind, second) in enumerate(steps):
        known: dict[str, Any] = {"promotion_id": "p", "query": "boots", "product_id": f"boot-{second}"}
        body = message(f"{story}-{prefix}{number}", story, kind, NOON + second * SECOND, properties=known)
        records.append(record(body))
    return records


def outcomes(settings: Any) -> dict[str, list[tuple[str, int]]]:
    found: dict[str, list[tuple[int, str, int]]] = {}
    for table in ("silver.impressions", "silver.searches"):
        for row in read_rows(settings, table, ["visitor_id", "event_time", "outcome", "clicks"]):
            found.setdefault(row["visitor_id"], []).append((row["event_time"], row["outcome"], row["clicks"]))
    return {
        visitor: [(outcome, clicks) for _, outcome, clicks in sorted(rows)] for visitor, rows in found.items()
    }


def test_late_events_update_outcomes_and_click_counts(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    early = [each for story, (steps, _, _) in LATE.items() for each in records_of(story, steps, "a")]
    bronze.commit([*early, heartbeat(instant(NOON + 600 * MINUTE))])
    run_jobs(spark, settings, "refine", "repair")
    assert_as_the_oracle(settings, Oracle.over(bronze.stored), "silver")
    bronze.commit([each for story, (_, late, _) in LATE.items() for each in records_of(story, late, "b")])
    run_jobs(spark, settings, "refine", "repair")
    assert outcomes(settings) == {story: rows for story, (_, _, rows) in LATE.items()}
    assert_as_the_oracle(settings, Oracle.over(bronze.stored), "silver")
