"""Rebuilds of silver tables: they match the oracle in any state of the jobs, and are atomic."""

import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, read_rows, run_jobs
from kit.records import NOON, Bronze, Record, message, record
from kit.scenarios import cut, story_events
from kit.spark import empty_home
from lakehouse.bundle_file import BUNDLE_FILE, bundle_root
from lakehouse.contracts import TABLES
from lakehouse.contracts.silver import LOCK
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.run.job import JobContext
from lakehouse.run.microbatch import run_microbatches
from lakehouse.run.rebuild import rebuild_job
from lakehouse.run.rules_version import rules_version
from lakehouse.settings import Settings
from silver.rebuild_definitions import DEFINITIONS
from silver.repair import Repair
from silver.repair_job import repair

pytestmark = pytest.mark.long

MINUTE = timedelta(minutes=1)
SILVER = tuple(DEFINITIONS)
PAID = "https://shop.example/?utm_source=zebra&utm_medium=stripes"


def rebuild(spark: SparkSession, settings: Settings, *tables: str) -> None:
    job = rebuild_job(DEFINITIONS, tables or SILVER)
    job.body(JobContext(job.name, spark.newSession(), settings, once=True))


def table_contents(settings: Settings, *tables: str) -> dict[str, list[str]]:
    """All rows of tables, provenance included."""
    found = {}
    for name in tables or SILVER:
        rows = read_rows(settings, name, TABLES[name].column_names)
        found[name] = sorted(repr(row) for row in rows)
    return found


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The channel rules of a bundle copy, which a test may change."""
    root = bundle_root()
    assert root is not None
    shutil.copytree(root / "conf", tmp_path / "bundle" / "conf")
    shutil.copy(root / BUNDLE_FILE, tmp_path / "bundle")
    monkeypatch.chdir(tmp_path / "bundle")
    return tmp_path / "bundle" / "conf" / "channels.yml"


def add_channel_rule(rules: Path, channel: str) -> None:
    document: dict[str, Any] = yaml.safe_load(rules.read_text())
    document["rules"].insert(0, {"channel": channel, "medium": "stripes"})
    rules.write_text(yaml.safe_dump(document))


def visit(uid: str, visitor: str, minute: float, url: str = PAID) -> Record:
    return record(message(uid, visitor, "page", NOON + minute * MINUTE, context={"page": {"url": url}}))


@pytest.mark.long
def test_rebuild_between_job_runs_leaves_silver_unchanged(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path, max_batch_rows=1)
    bronze = Bronze(spark, settings)
    first, second, third, last = cut(story_events(40))
    bronze.commit(first)
    bronze.commit(second)
    run_jobs(spark, settings, "refine")  # late rows of it are not repaired yet
    before = table_contents(settings)
    rebuild(spark, settings)
    assert table_contents(settings) == before
    bronze.commit(third)
    run_jobs(spark, settings, "repair", "refine")
    rebuild(spark, settings, "silver.sessions")
    bronze.commit(last)
    run_jobs(spark, settings, "refine", "repair")
    assert_as_the_oracle(settings, Oracle.over(bronze.stored), "silver")
    before = table_contents(settings)
    rebuild(spark, settings)
    assert table_contents(settings) == before


@pytest.mark.long
def test_rebuild_applies_changed_rules_to_old_and_new_events(
    spark: SparkSession, tmp_path: Path, rules: Path
) -> None:
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    bronze.commit([visit("a", "v", 0), visit("b", "w", 500), visit("c", "v", 5)])
    run_jobs(spark, settings, "refine", "repair")
    bronze.commit([visit("late", "v", -10), visit("d", "x", 510)])
    run_jobs(spark, settings, "refine")
    add_channel_rule(rules, "Savanna")
    rebuild(spark, settings, "silver.sessions", "silver.events")
    bronze.commit([visit("e", "y", 520), visit("later", "x", 490)])
    run_jobs(spark, settings, "refine", "repair")
    events = read_rows(settings, "silver.events", ("event_id", "channel"))
    assert {row["event_id"]: row["channel"] for row in events} == dict.fromkeys(
        ("a", "b", "c", "d", "e", "late", "later"), "Savanna"
    )
    sessions = read_rows(settings, "silver.sessions", ("visitor_id", "events", "channel", "first_event_id"))
    assert sorted(tuple(row.values()) for row in sessions) == [
        ("v", 3, "Savanna", "late"),
        ("w", 1, "Savanna", "b"),
        ("x", 2, "Savanna", "later"),
        ("y", 1, "Savanna", "e"),
    ]


def test_running_repair_uses_added_bot_user_agent(spark: SparkSession, tmp_path: Path, rules: Path) -> None:
    settings = empty_home(spark, tmp_path)
    bronze, run = Bronze(spark, settings), JobContext("repair", spark.newSession(), settings, once=True)
    running_repair = Repair(run)

    def ingest_visit(uid: str, visitor: str, agent: str) -> None:
        body = message(uid, visitor, "page", NOON, context={"userAgent": agent})
        bronze.commit([record(body)])
        run_jobs(spark, settings, "refine")
        run_microbatches(run, "refine", running_repair, lock=LOCK)

    def bots() -> dict[str, str]:
        rows = read_rows(settings, "silver.bots", ("visitor_id", "rules_version"))
        return {row["visitor_id"]: row["rules_version"] for row in rows}

    before = rules_version(settings.conf)
    ingest_visit("a", "old", "Googlebot/2.1")
    ingest_visit("b", "missed", "Zebra/1")
    assert bots() == {"old": before}
    names = rules.with_name("bots.yml")
    document = yaml.safe_load(names.read_text())
    names.write_text(yaml.safe_dump({**document, "user_agents": [*document["user_agents"], "zebra"]}))
    after = rules_version(settings.conf)
    ingest_visit("c", "new", "Zebra/2")
    assert bots() == {"old": before, "new": after}
    rebuild(spark, settings, "silver.bots")
    assert bots() == dict.fromkeys(("old", "missed", "new"), after)


class DiedError(Exception):
    """The process has died."""


@pytest.mark.parametrize(
    ("job", "dies_at"),
    [
        ("refine", "silver.events"),
        pytest.param("refine", "silver.sessions", marks=pytest.mark.long),
        pytest.param("refine", "ops.ledger", marks=pytest.mark.long),
        pytest.param("repair", "ops.ledger", marks=pytest.mark.long),
    ],
)
def test_rebuild_after_interrupted_batch_matches_oracle(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: str, dies_at: str
) -> None:
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    bronze.commit([visit("a", "v", 0), visit("b", "w", 100), record("no json")])
    run_jobs(spark, settings, "refine", "repair")
    bronze.commit([visit("c", "v", 10), visit("d", "w", 110), visit("a", "v", 0), record("none")])
    if job == "repair":
        run_jobs(spark, settings, "refine")
    with monkeypatch.context() as patched:
        for name in ("append", "merge_changes"):
            patched.setattr(Lakehouse, name, dying(getattr(Lakehouse, name), dies_at))
        with pytest.raises(DiedError):
            run_jobs(spark, settings, job)
    rebuild(spark, settings, "silver.events", "silver.sessions")
    bronze.commit([visit("e", "v", 25), visit("f", "x", 400)])
    run_jobs(spark, settings, "refine", "repair")
    assert_as_the_oracle(settings, Oracle.over(bronze.stored), "silver")


def dying(write: Any, table: str) -> Any:
    def commit(lake: Lakehouse, name: str, *args: Any, **more: Any) -> None:
        if name == table:
            raise DiedError(name)
        write(lake, name, *args, **more)

    return commit


def test_failed_rebuild_leaves_table_unchanged(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    bronze.commit([visit(str(number), f"v{number}", number) for number in range(50)])
    run_jobs(spark, settings, "refine", "repair")
    before, version = table_contents(settings), DeltaTable(settings.warehouse / "silver" / "events").version()
    broken = spark.newSession()
    broken.conf.set("spark.sql.ansi.enabled", "true")
    definition = DEFINITIONS["silver.events"]

    def failing_compute(run: JobContext) -> Any:
        return definition.compute(run).selectExpr(
            "* EXCEPT (event_hash)",
            "event_hash DIV (CASE WHEN event_id = '49' THEN 0 ELSE 1 END) AS event_hash",
        )

    one = {"silver.events": replace(definition, compute=failing_compute)}
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        rebuild_job(one, ["silver.events"]).body(JobContext("rebuild", broken, settings, once=True))
    assert table_contents(settings) == before
    assert DeltaTable(settings.warehouse / "silver" / "events").version() == version


@pytest.mark.long
def test_rebuild_concurrent_with_streaming_jobs_matches_oracle(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path, max_batch_rows=1, trigger_interval=timedelta(milliseconds=100))
    bronze = Bronze(spark, settings)
    commits = [
        [visit(f"{n}-{v}", f"v{v}", n * 20 - (n % 3) * 70) for v in range(5)] + [record("no json")]
        for n in range(5)
    ]
    bronze.commit(commits[0])
    stop, failed = threading.Event(), []

    def keep_running(job: str) -> None:
        try:
            from silver.refine_job import refine

            body = {"refine": refine, "repair": repair}[job]
            body(JobContext(job, spark.newSession(), settings, once=False, stop=stop))
        except Exception as error:  # noqa: BLE001 - asserted by the test's own thread
            failed.append(error)

    threads = [threading.Thread(target=keep_running, args=(job,)) for job in ("refine", "repair")]
    for thread in threads:
        thread.start()
    for number, records in enumerate(commits[1:]):
        bronze.commit(records)
        rebuild(spark, settings, *(SILVER if number == 1 else ("silver.sessions",)))
    stop.set()
    for thread in threads:
        thread.join(60)
    assert not failed
    run_jobs(spark, settings, "refine", "repair")
    assert_as_the_oracle(settings, Oracle.over(bronze.stored), "silver")
