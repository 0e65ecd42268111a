"""A longer session gap reopens closed sessions, and each session stays one row."""

import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kit.home import ROOT
from kit.pipeline import read_rows, run_jobs
from kit.records import NOON, Bronze, heartbeat, instant, message, record
from kit.spark import empty_home
from lakehouse.contracts.silver import SESSIONS

MINUTE = timedelta(minutes=1)


@pytest.mark.long
def test_event_joins_a_closed_session_after_the_gap_was_raised(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "bundle"
    shutil.copytree(ROOT / "conf", place / "conf")
    shutil.copy(ROOT / "bundle.yml", place)
    monkeypatch.chdir(place)
    settings = empty_home(spark, tmp_path / "home")
    bronze = Bronze(spark, settings)
    pages = [record(message(f"e{minute}", "v", at=NOON + minute * MINUTE)) for minute in (0, 1, 40, 45)]
    bronze.commit([*pages[:2], heartbeat(instant(NOON + 42 * MINUTE))])
    run_jobs(spark, settings, "refine")
    assert [row["is_open"] for row in read_rows(settings, SESSIONS.name, ("is_open",))] == [False]
    rules = place / "conf" / "rules.yml"
    rules.write_text(rules.read_text().replace("session_gap: PT30M", "session_gap: PT1H"))
    for events, page in enumerate(pages[2:], 3):
        bronze.commit([page])
        run_jobs(spark, settings, "refine")
        rows = read_rows(settings, SESSIONS.name, ("started_at", "events", "is_open"))
        assert [(row["events"], row["is_open"]) for row in rows] == [(events, True)]
