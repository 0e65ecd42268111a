"""Window panes through the real jobs after each micro-batch, against the oracle by order of arrival."""

import json
import shutil
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from folds.windows.window_rules import FILE, from_json
from gold.rebuild_definitions import DEFINITIONS
from kit.oracle_arrival import MINUTE, ArrivalOracle, Arrived, Batch, Key, Line, Published
from kit.pipeline import read_rows, run_jobs
from kit.records import NOON, Bronze, Record, message, record
from kit.spark import empty_home
from lakehouse.bundle_file import BUNDLE_FILE
from lakehouse.contracts.traffic import TRAFFIC
from lakehouse.run.job import JobContext
from lakehouse.run.rebuild import rebuild_job
from lakehouse.settings import Settings
from lakehouse.timestamps import to_micros
from millrace.audit.windows import wrong_windows

pytestmark = pytest.mark.long

CONF = Path(__file__).resolve().parents[3] / "conf"
LINES = {
    "1 minute": Line(1, 1),
    "1 hour": Line(60, 60),
    "1 hour every 5 minutes": Line(60, 5),
    "1 day": Line(24 * 60, 24 * 60),
    "by count": Line(30, 30, trigger_events=4),
    "by time": Line(30, 15, trigger_every=20),
    "as published": Line(60, 60, lateness="count"),
    "sixty events": Line(0, 0, events=60),
    "two events": Line(0, 0, events=2),
}
EXTRA_WINDOWS = """
by count: {size: PT30M, trigger: {events: 4}}
by time: {size: PT30M, slide: PT15M, trigger: {every: PT20M}}
as published: {size: PT1H, lateness: count}
sixty events: {events: 60}
two events: {events: 2}
"""
SHOWN = ("events", "visitors", "value", "pane", "revision", "is_complete", "late_events")

Event = tuple[str, float]
"""Visitor, and minutes after noon."""

RUSH: list[Event] = [("rob", 4 + second / 60) for second in range(55)]
BATCHES: list[list[Event]] = [
    [("ann", 1), ("ben", 3), ("ann", 4.5), *RUSH],
    [("ann", 22), ("cid", 33)],  # the first half hour is over, or nearly
    [("dan", 2), ("cid", 47)],  # two minutes past noon is late by then
    [("cid", 75), ("ann", 65)],
    [("rob", 4 + second / 60 + 0.01) for second in range(55)],  # late, and too many in a minute: rob is a bot
    [("ben", 3.2), ("ben", 130)],  # late, and the last that comes
    [("eve", 200)],
]


def identify(uid: str, event: Event) -> Record:
    """An event outside sessions, so that windows have no counts but events and visitors."""
    who, minute = event
    return record(message(uid, who, "identify", NOON + timedelta(minutes=minute)))


def published(settings: Settings) -> dict[Key, Published]:
    rows = read_rows(settings, TRAFFIC.name, (*TRAFFIC.key, *SHOWN))
    return {
        (row["window_kind"], row["window_start"], row["channel"]): Published(*(row[name] for name in SHOWN))
        for row in rows
        if row["pane"] is not None
    }


def watermark_of(settings: Settings) -> int:
    rows = read_rows(settings, "ops.ledger", ("job", "position", "watermark"))
    last = max((row for row in rows if row["job"] == "publish"), key=lambda row: row["position"])
    return int(last["watermark"])


def arrived(events: list[Event]) -> list[Arrived]:
    noon = to_micros(NOON)
    return [Arrived(who, noon + int(minute) * MINUTE, None, 1, Decimal(0)) for who, minute in events]


@pytest.fixture
def conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The conf of a bundle copy with additional windows."""
    folder = tmp_path / "bundle"
    shutil.copytree(CONF, folder / "conf")
    shutil.copy(CONF.parent / BUNDLE_FILE, folder)
    with (folder / "conf" / FILE).open("a") as file:
        file.write(EXTRA_WINDOWS)
    monkeypatch.chdir(folder)
    return folder / "conf"


def test_window_panes_match_oracle_after_each_micro_batch(
    spark: SparkSession, tmp_path: Path, conf: Path
) -> None:
    settings = empty_home(spark, tmp_path / "home")
    bronze, oracle = Bronze(spark, settings), ArrivalOracle(LINES)
    seen: list[Any] = []
    bots: set[str] = set()
    for number, events in enumerate(BATCHES):
        bronze.commit([identify(f"{number}-{place}", event) for place, event in enumerate(events)])
        run_jobs(spark, settings)
        new = frozenset({"rob"} if number == 4 else ()) - bots
        bots |= new
        theirs = arrived([event for event in events if event[0] not in bots])
        oracle.take(Batch(theirs, new, watermark_of(settings)))
        assert published(settings) == oracle.published, f"batch {number}"
        assert wrong_windows(settings) == set()
        row = oracle.published["1 hour", to_micros(NOON), None]
        seen.append((row.pane, row.revision))
    assert [pane for pane, _ in seen] == ["early"] * 3 + ["on_time"] * 2 + ["late"] * 2
    kept = oracle.published["as published", to_micros(NOON), None]
    assert (kept.pane, kept.late_events) == ("on_time", 1)
    late = {key[1] for key, row in oracle.published.items() if key[0] == "1 minute" and row.pane == "late"}
    assert late == {to_micros(NOON) + 3 * MINUTE}, "neither the bot's, nor one first seen after its end"
    two = sorted(key[1] for key in oracle.published if key[0] == "two events")
    assert len(two) > 3
    assert_rebuild_keeps_windows(spark, settings)


def last_metadata(settings: Settings) -> dict[str, Any]:
    commits = DeltaTable(settings.warehouse / "gold" / "traffic").history()
    return next(json.loads(each["userMetadata"]) for each in commits if "userMetadata" in each)


def assert_rebuild_keeps_windows(spark: SparkSession, settings: Settings) -> None:
    """A rebuild without the additional windows leaves the standard windows unchanged."""
    (settings.conf / FILE).write_text((CONF / FILE).read_text())
    before = published(settings)
    job = rebuild_job(DEFINITIONS, [TRAFFIC.name])
    job.body(JobContext(job.name, spark.newSession(), settings, once=True))
    after = published(settings)
    assert {key[0] for key in after} == {"1 minute", "1 hour", "1 hour every 5 minutes", "1 day"}
    assert after == {key: row for key, row in before.items() if key in after}
    with (settings.conf / FILE).open("a") as file:
        file.write("none so large: {events: 1000000}\n")
    job.body(JobContext(job.name, spark.newSession(), settings, once=True))
    rules = from_json(last_metadata(settings)["windows"])
    assert rules["none so large"].events == 1_000_000, "a rule that changes no row is in force too"
