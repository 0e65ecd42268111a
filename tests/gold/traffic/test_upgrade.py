"""Homes of before, whose log does not say how far gold.traffic has come."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kit.dying import dying_at
from kit.folding import assert_changes_fold
from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, run_jobs
from kit.records import Bronze
from kit.scenarios import cut, story_events
from kit.spark import empty_home
from lakehouse.contracts.traffic import TRAFFIC
from lakehouse.settings import Settings
from millrace.audit.windows import wrong_windows


def say_what_earlier_releases_said(settings: Settings) -> None:
    """Metadata of commits to gold.traffic without the progress."""
    log = settings.warehouse / "gold" / "traffic" / "_delta_log"
    for commit in log.glob("*.json"):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for info in (each["commitInfo"] for each in actions if "commitInfo" in each):
            known = json.loads(info.get("userMetadata") or "{}")
            if "minutes" in known:
                kept = {"job": known["job"], "upto": known["upto"], "sequence": 1}
                info["userMetadata"] = json.dumps(kept)
        commit.write_text("\n".join(map(json.dumps, actions)))


@pytest.mark.parametrize("dies_at", [None, TRAFFIC.name])
def test_windows_of_an_earlier_release_are_computed_once_more(
    dies_at: str | None, spark: SparkSession, tmp_path: Path
) -> None:
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    *early, last, after = cut(story_events(12))
    bronze.commit([record for records in early for record in records])
    run_jobs(spark, settings)
    say_what_earlier_releases_said(settings)
    bronze.commit(last)
    if dies_at:
        with dying_at(dies_at):
            run_jobs(spark, settings)
    run_jobs(spark, settings)
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))
    assert wrong_windows(settings) == set()
    bronze.commit(after)
    run_jobs(spark, settings)
    assert_as_the_oracle(settings, Oracle.over(bronze.stored))
    assert assert_changes_fold(settings) == 3
