"""Homes of before, whose log does not say how far gold.traffic has come."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from kit.dying import dying_at
from kit.folding import assert_changes_fold
from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle, run_jobs
from kit.records import Bronze
from kit.scenarios import cut, story_events
from kit.spark import empty_home
from kit.warehouse_builder import append_rows
from lakehouse.contracts.traffic import TRAFFIC
from lakehouse.settings import Settings, load_settings
from millrace.audit.windows import wrong_windows
from millrace.cli import app, register_commands

GONE = "gold/traffic_changes"


def leave_table_of_changes(settings: Settings) -> None:
    """A table that earlier releases wrote."""
    write_deltalake(settings.warehouse / GONE, pa.table({"change": ["retract"]}))


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


@pytest.mark.long
@pytest.mark.parametrize("dies_at", [None, TRAFFIC.name])
def test_windows_of_an_earlier_release_are_computed_once_more(
    dies_at: str | None, spark: SparkSession, tmp_path: Path
) -> None:
    settings = empty_home(spark, tmp_path)
    leave_table_of_changes(settings)
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
    assert DeltaTable(settings.warehouse / GONE).version() == 0, "nothing writes it"


@pytest.mark.parametrize("command", ["status", "doctor", "sql"])
def test_commands_ignore_the_table_that_is_gone(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLRACE_HOME", str(tmp_path))
    settings = load_settings(home=tmp_path)
    append_rows(tmp_path, TRAFFIC.name, [])
    if not app.registered_commands:
        register_commands()
    arguments = [command, "SELECT count(*) FROM gold.traffic"] if command == "sql" else [command]
    before = CliRunner().invoke(app, arguments)
    leave_table_of_changes(settings)
    after = CliRunner().invoke(app, arguments)
    assert (after.exit_code, "traffic_changes" in after.output) == (before.exit_code, False)
    assert isinstance(after.exception, SystemExit | None)
