"""Killed in mid-run, and with its checkpoint lost, the pipeline comes to the tables of a calm run."""

import shutil
from pathlib import Path

import pytest

from kit.home import JOBS, Home
from kit.processes import Pipeline, assert_nothing_runs, seconds_of
from kit.tables import OF_EVENTS, commits, differences

WITHOUT_GOLD = JOBS[:-1]
TABLES = tuple(name for name in OF_EVENTS if not name.startswith("gold."))


@pytest.fixture
def home(caught_up_home: Home, tmp_path: Path) -> Home:
    """A new home on the topic of one that was never disturbed, with small micro-batches."""
    return caught_up_home.twin(tmp_path / "home", MILLRACE_MAX_BATCH_ROWS="6000")


def test_kills_and_a_lost_checkpoint_leave_no_trace(home: Home, caught_up_home: Home) -> None:
    with Pipeline(home, *WITHOUT_GOLD) as pipeline:  # between bronze's commit and its row in the ledger
        pipeline.reaches(lambda: commits(home, "bronze.kafka_records") >= 2)
        pipeline.kill_group()
    assert_nothing_runs(home.path)
    shutil.rmtree(home.path / "checkpoints" / "ingest")

    with Pipeline(home, *WITHOUT_GOLD) as pipeline:
        pipeline.reaches(lambda: commits(home, "silver.events") >= 2)
        pipeline.java().kill()
        assert seconds_of(lambda: pipeline.ends(30)) < 10
        assert pipeline.process.returncode == 1
        (line,) = pipeline.told
    assert line.startswith("millrace: Spark's Java process ended while refine ran. ")
    assert_nothing_runs(home.path)

    home.must("run", *WITHOUT_GOLD, "--once")
    home.must("audit")
    assert differences(home, caught_up_home, *TABLES) == {}
