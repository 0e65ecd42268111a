"""Upgrades of homes whose Delta log lacks the progress of gold.traffic."""

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

pytestmark = pytest.mark.long

REMOVED_TABLE = "gold/traffic_changes"


def write_removed_table(settings: Settings) -> None:
    """Write a table that only earlier releases have."""
    write_deltalake(settings.warehouse / REMOVED_TABLE, pa.table({"change": ["retract"]}))


def remove_progress_from_metadata(settings: Settings) -> None:
    """Rewrite the commit metadata of gold.traffic as earlier releases did, without the progress."""
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
def test_windows_of_earlier_release_are_recomputed_after_upgrade(
    dies_at: str | None, spark: SparkSession, tmp_path: Path
) -> None:
    settings = empty_home(spark, tmp_path)
    write_removed_table(settings)
    bronze = Bronze(spark, settings)
    *early, last, after = cut(story_events(12))
    bronze.commit([record for records in early for record in records])
    run_jobs(spark, settings)
    remove_progress_from_metadata(settings)
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
    assert DeltaTable(settings.warehouse / REMOVED_TABLE).version() == 0, "nothing writes it"


@pytest.mark.parametrize("command", ["status", "doctor", "sql"])
def test_commands_ignore_table_of_earlier_releases(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLRACE_HOME", str(tmp_path))
    settings = load_settings(home=tmp_path)
    append_rows(tmp_path, TRAFFIC.name, [])
    if not app.registered_commands:
        register_commands()
    arguments = [command, "SELECT count(*) FROM gold.traffic"] if command == "sql" else [command]
    before = CliRunner().invoke(app, arguments)
    write_removed_table(settings)
    after = CliRunner().invoke(app, arguments)
    assert (after.exit_code, "traffic_changes" in after.output) == (before.exit_code, False)
    assert isinstance(after.exception, SystemExit | None)
