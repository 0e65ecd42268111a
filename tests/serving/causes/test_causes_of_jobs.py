"""Change feeds of repeatedly killed jobs fold to the tables, and name the causes of each change."""

from collections import Counter
from pathlib import Path
from random import Random
from time import sleep
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kit.caused_changes import changes_with_causes
from kit.change_folding import assert_feed_folds
from kit.home import Home
from kit.oracle import Oracle
from kit.oracle_wire import micros
from kit.pipeline import assert_as_the_oracle, read_rows, run_jobs
from kit.processes import Pipeline
from kit.records import Bronze
from kit.scenarios import in_time, rate_records, rush_events, search_events, story_events
from kit.simulated_jobs import CREDIT, DAYS, FOLDED
from kit.spark import empty_home
from kit.tables import commits
from kit.undoing import History, State, assert_undone
from lakehouse.contracts import TABLES
from lakehouse.delta.log_files import latest_version, read_metadata
from lakehouse.settings import Settings
from serving.causes.causes import Causes

JOBS = ("refine", "repair", "publish")
KILLS = (
    ("refine", "silver.events"),
    ("publish", "gold.attribution"),
    ("refine", "silver.sessions"),
    ("repair", "silver.sessions"),
    ("publish", "gold.visitor_minutes"),
    ("publish", "gold.conversions"),
)
CHECKED_TABLES = (*FOLDED, *CREDIT, *DAYS, "gold.traffic")
SAMPLE_SIZE = 100


def kill_at(home: Home, job: str, table: str) -> bool:
    """Kill a job once it has committed to a table. Returns whether it was still running."""
    before = commits(home, table)
    with Pipeline(home, job) as pipeline:
        while commits(home, table) == before and pipeline.process.poll() is None:
            sleep(0.002)
        is_running = pipeline.process.poll() is None
        pipeline.kill_group()
    return is_running


def run_with_kills(spark: SparkSession, settings: Settings, bronze: Bronze) -> int:
    """Run the jobs after each commit of bronze; one of them is killed and started again."""
    more = {"MILLRACE_EXCHANGE_RATES_TOPIC": "exchange_rates"}
    home, kills = Home(settings.home, "127.0.0.1:1", "events", more), 0
    events = story_events(60) + rate_records() + rush_events() + search_events(4)
    for (victim, table), records in zip(KILLS, in_time(events, len(KILLS)), strict=True):
        bronze.commit(records)
        place = JOBS.index(victim)
        run_jobs(spark, settings, *JOBS[:place]) if place else None
        kills += kill_at(home, victim, table)
        run_jobs(spark, settings, *JOBS[place:])
    return kills


def states_of(settings: Settings, bronze: Bronze, name: str) -> dict[tuple[str, int], State]:
    """By table version, the times through which events and late events are processed, and the watermark."""
    stamps = sorted({micros(each.ingested_at) for each in bronze.stored})
    rows = read_rows(settings, "ops.ledger", ("job", "position", "watermark"))
    watermarks = {row["position"]: row["watermark"] for row in rows if row["job"] == "refine"}
    folder = settings.warehouse.joinpath(*name.split("."))
    found = {}
    for version in range(latest_version(folder) + 1):
        metadata = read_metadata(folder, version)
        if upto := metadata.get("upto"):
            earlier = max((stamp for stamp in stamps if stamp < upto), default=0)
            late = earlier if metadata["job"] == "refine" else upto
            found[name, version] = State(upto, late, watermarks[upto])
    return found


def changes_of(settings: Settings, name: str) -> list[dict[str, Any]]:
    return changes_with_causes(settings.warehouse, name, Causes(settings))


@pytest.mark.long
def test_changes_of_killed_jobs_fold_to_tables_and_revert_without_causes(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    assert run_with_kills(spark, settings, bronze) > len(KILLS) // 2
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))
    late = [
        row["event_id"]
        for row in read_rows(settings, "silver.events", ("event_id", "is_late"))
        if row["is_late"]
    ]
    assert len(late) > 20
    history = History(bronze.stored, late)
    kinds: Counter[str] = Counter()
    for name in CHECKED_TABLES:
        changes = changes_of(settings, name)
        assert_feed_folds(settings.warehouse.joinpath(*name.split(".")), TABLES[name], begins=[0])
        of_table = Counter("+".join(sorted(each["caused_by"])) for each in changes)
        kinds += of_table
        by_events = [each for each in changes if "events" in each["caused_by"]]
        others = [each for each in changes if "events" not in each["caused_by"]]
        sampled = Random(0).sample(by_events, min(SAMPLE_SIZE, len(by_events))) + others[:SAMPLE_SIZE]
        assert_undone(history, TABLES[name], states_of(settings, bronze, name), sampled)
    assert {"events", "watermark", "events+rates"} <= kinds.keys(), kinds
    assert not kinds["job"], kinds
