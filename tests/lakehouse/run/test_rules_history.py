"""ops.rules and ops.rule_uses: every version of the rules, stored once, and when it was used."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kit.pipeline import read_rows, run_jobs
from kit.records import Bronze, message, record
from kit.spark import empty_home
from lakehouse.bundle_file import BUNDLE_FILE, bundle_root
from lakehouse.contracts.ops import RULES
from lakehouse.contracts.silver import SESSIONS
from lakehouse.run import rules_history
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Ledger
from lakehouse.run.rebuild import rebuild_job
from lakehouse.run.rules_version import rules_version
from lakehouse.settings import Settings
from lakehouse.timestamps import EPOCH
from millrace.local.status.table_figures import TableFigures
from millrace.operations.rebuild import definitions
from millrace.tables.duckdb_views import run_query
from millrace.tables.rules_reader import read_rules_used

RECORDING = ("refine", "repair")  # the first to run stores the rules, the other does not again
FILES = {
    *("bots.yml", "channels.yml", "consent.yml", "costs.yml", "crawlers.yml", "currencies.yml"),
    *("dimensions.yml", "identities.yml", "referrers.yml"),
    *("roles.yml", "rules.yml", "shop.yml", "windows.yml"),
}

CREDIT = ["gold.attribution", "gold.campaign_performance", "gold.dimension_performance", "gold.sketches"]
"""Tables that follow the half-life."""


@pytest.fixture
def conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The rules of a copied bundle, which a test may change."""
    root = bundle_root()
    assert root is not None
    shutil.copytree(root / "conf", tmp_path / "bundle" / "conf")
    shutil.copy(root / BUNDLE_FILE, tmp_path / "bundle")
    monkeypatch.chdir(tmp_path / "bundle")
    return tmp_path / "bundle" / "conf"


def set_half_life(conf: Path, days: int) -> str:
    """Change the half-life, and return the new rules version."""
    file = conf / "rules.yml"
    file.write_text(file.read_text().replace("half_life: P7D", f"half_life: P{days}D"))
    return rules_version(conf)


def texts(settings: Settings) -> dict[tuple[str, str], str]:
    """Texts by version and file; fails if one is stored twice."""
    rows = read_rows(settings, RULES.name, RULES.column_names)
    assert len({(row["rules_version"], row["file"]) for row in rows}) == len(rows)
    assert all(row["first_seen_at"] for row in rows)
    return {(row["rules_version"], row["file"]): row["text"] for row in rows}


def commits(settings: Settings) -> int:
    return len(list((settings.warehouse / "ops" / "rules" / "_delta_log").glob("*.json")))


def due(settings: Settings) -> list[str]:
    """The tables that `millrace status` names."""
    return TableFigures(settings).tables_of_other_rules()


def visit(bronze: Bronze, uid: str) -> None:
    bronze.commit([record(message(uid, "v"))])


class DiedError(Exception):
    """A simulated crash of the process."""


def test_rules_changed_between_batches_are_stored_once_per_version(
    spark: SparkSession, tmp_path: Path, conf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, first = empty_home(spark, tmp_path / "home"), rules_version(conf)
    bronze = Bronze(spark, settings)
    visit(bronze, "a")
    run_jobs(spark, settings, *RECORDING)
    assert {file for _, file in texts(settings)} == FILES
    assert due(settings) == []
    second = set_half_life(conf, 3)
    visit(bronze, "b")
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "record", crash)
        with pytest.raises(DiedError):
            run_jobs(spark, settings, "refine")
    run_jobs(spark, settings, *RECORDING)
    found = texts(settings)
    assert set(found) == {(version, file) for version in (first, second) for file in FILES}
    assert "half_life: P7D" in found[first, "rules.yml"]
    assert found[second, "rules.yml"] == (conf / "rules.yml").read_text()
    of_events = read_rows(settings, "silver.events", ("rules_version",))
    assert {row["rules_version"] for row in of_events} == {first, second}
    assert commits(settings) == 3  # the table, and a version each
    assert due(settings) == CREDIT
    asked = run_query(settings, "SELECT file, text FROM ops.rules WHERE rules_version = '" + first + "'")
    assert dict(asked.rows()) == {file: found[first, file] for file in FILES}


def crash(*_: Any) -> None:
    raise DiedError


def test_comment_only_change_of_rules_is_no_new_version(
    spark: SparkSession, tmp_path: Path, conf: Path
) -> None:
    settings = empty_home(spark, tmp_path / "home")
    run = JobContext("refine", spark.newSession(), settings, once=True)
    for text in ("", "# a comment\n", "# another\n"):
        (conf / "rules.yml").write_text(text)
        run.record_rules()
    assert {file: text for (_, file), text in texts(settings).items()}["rules.yml"] == ""
    assert commits(settings) == 2


def test_jobs_started_concurrently_store_a_version_once(
    spark: SparkSession, tmp_path: Path, conf: Path
) -> None:
    settings = empty_home(spark, tmp_path / "home")
    runs = [JobContext(f"job{number}", spark.newSession(), settings, once=True) for number in range(6)]
    with ThreadPoolExecutor(len(runs)) as threads:
        for done in [threads.submit(run.record_rules) for run in runs]:
            done.result()
    assert {file for _, file in texts(settings)} == FILES


@pytest.mark.long
def test_rules_that_return_and_rebuilds_are_recorded_in_order_whatever_the_clock_is(
    spark: SparkSession, tmp_path: Path, conf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, first = empty_home(spark, tmp_path / "home"), rules_version(conf)
    text = (conf / "rules.yml").read_text()
    run = JobContext("refine", spark.newSession(), settings, once=True)
    run.record_rules()
    second = set_half_life(conf, 3)
    run.record_rules()
    monkeypatch.setattr(rules_history, "now", lambda: EPOCH)
    JobContext("repair", spark.newSession(), settings, once=True).record_rules()
    (conf / "rules.yml").write_text(text)
    run.record_rules()
    job = rebuild_job(definitions(), [SESSIONS.name])
    job.body(JobContext("rebuild", spark.newSession(), settings, once=True))
    found = read_rules_used(settings)
    assert [use.version for use in found.uses] == [first, second, first]
    assert found.texts.keys() == {first, second}
    (rebuilt,) = found.rebuilds
    assert (rebuilt.table, rebuilt.version) == (SESSIONS.name, first)
    assert found.uses[1].since < found.uses[2].since == rebuilt.after < rebuilt.at
