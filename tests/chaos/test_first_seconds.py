"""Kill the pipeline from its first second on, while tables and checkpoints are being made."""

import subprocess
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from kit.home import JOBS, ROOT, Home, command
from kit.polling import eventually
from kit.processes import Pipeline, assert_nothing_runs, processes_of
from kit.tables import differences
from millrace.local.process.ports import stable_port

MADE = (
    "warehouse",
    *(
        f"warehouse/{table}/_delta_log"
        for table in (
            *("bronze/kafka_records", "ops/ledger", "ops/topics", "silver/events", "silver/sessions"),
            *("silver/impressions", "gold/conversions", "gold/attribution", "gold/traffic"),
        )
    ),
    "warehouse/gold/traffic/_delta_log/00000000000000000000.json",
    "checkpoints",
    "checkpoints/ingest/metadata",
    "checkpoints/ingest/offsets",
)
"""What a first run makes, about in this order: the process is killed when it sees each."""
FIRST_SECONDS = (6, 8, 10, 12, 15, 18)


def test_at_each_table_and_checkpoint_that_is_made(calm_home: Home, tmp_path: Path) -> None:
    home = calm_home.twin(tmp_path / "home")
    killed = 0
    for made in MADE:
        if (home.path / made).exists():
            continue  # made together with one before
        with Pipeline(home) as pipeline:
            while not (home.path / made).exists() and pipeline.process.poll() is None:
                pass  # a kill in the middle of making it needs more than a look now and then
            assert pipeline.process.poll() is None, f"ended before {made}: {pipeline.reported}"
            pipeline.kill_group()
        killed += 1
        assert_nothing_runs(home.path)
    assert killed > 1
    home.must("run", *JOBS, "--once")
    home.must("audit")
    assert differences(home, calm_home) == {}


@pytest.mark.parametrize("empty", ["ops/ledger", "bronze/kafka_records", "silver/events", "gold/attribution"])
def test_an_empty_log_folder_of_a_table_heals(calm_home: Home, tmp_path: Path, empty: str) -> None:
    home = calm_home.twin(tmp_path / "home")
    (home.path / "warehouse" / empty / "_delta_log").mkdir(parents=True)
    home.must("run", *JOBS, "--once")
    home.must("audit")
    assert differences(home, calm_home) == {}


def test_each_job_six_times_in_its_first_seconds(calm_home: Home, tmp_path: Path) -> None:
    home = calm_home.twin(tmp_path / "home")
    for job in ("ingest", "refine", "publish"):
        for seconds in FIRST_SECONDS:
            with Pipeline(home, job) as pipeline:
                until = time.monotonic() + seconds
                eventually(
                    lambda until=until, pipeline=pipeline: (
                        time.monotonic() > until or pipeline.process.poll() is not None
                    ),
                    60,
                )
                pipeline.kill_group()
            assert_nothing_runs(home.path)
        home.must("run", job, "--once")
    home.must("run", *JOBS, "--once")
    home.must("audit")
    assert differences(home, calm_home) == {}


@pytest.mark.parametrize("made", ["kafka", "kafka/data.draft", "kafka/data", "kafka/server.properties"])
def test_a_broker_that_is_killed_while_its_folder_is_made(tmp_path: Path, made: str) -> None:
    home = Home(tmp_path / "home", "", "events", {"MILLRACE_BROKER_PORT": str(stable_port())})
    env = {name: value for name, value in home.env.items() if name != "MILLRACE_KAFKA_BOOTSTRAP"}
    process = subprocess.Popen(
        command("up", "--broker"), env=env, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        eventually((home.path / made).exists, 60)
    finally:
        for started in processes_of(home.path):
            with suppress(psutil.Error):
                started.kill()
        process.wait()
    assert_nothing_runs(home.path, 30)
    try:
        again = subprocess.run(
            command("up", "--broker"),
            env=env,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert again.returncode == 0, again.stderr
    finally:
        subprocess.run(command("down"), env=env, cwd=ROOT, check=True, timeout=60, capture_output=True)
