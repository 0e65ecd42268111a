"""Ingest that is killed between commit and ledger and has lost its checkpoint loses and duplicates nothing.

`make chaos` kills the other jobs, and Java alone, at more moments.
"""

import shutil
from pathlib import Path

import pytest

from kit.home import Home
from kit.processes import Pipeline, assert_nothing_runs
from kit.tables import commits, differences


@pytest.mark.long
def test_killed_ingest_with_lost_checkpoint_gives_the_same_bronze(
    caught_up_home: Home, tmp_path: Path
) -> None:
    home = caught_up_home.twin(tmp_path / "home", MILLRACE_MAX_BATCH_ROWS="6000")
    with Pipeline(home, "ingest") as pipeline:
        pipeline.reaches(lambda: commits(home, "bronze.kafka_records") >= 2)
        pipeline.kill_group()
    assert_nothing_runs(home.path)
    shutil.rmtree(home.path / "checkpoints" / "ingest")

    home.must("run", "ingest", "--once")
    home.must("audit")
    assert differences(home, caught_up_home, "bronze.kafka_records") == {}
