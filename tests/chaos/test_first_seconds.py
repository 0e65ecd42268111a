"""Kill the pipeline from its first second on, while tables and checkpoints are being created."""

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

CREATED_PATHS = (
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
"""Paths that a first run creates, roughly in this order; the process is killed as each appears."""
MIN_KILLS = 8  # usually 10: some paths are created together
FIRST_SECONDS = (6, 8, 10, 12, 15, 18)


def test_kill_at_creation_of_each_table_and_checkpoint_loses_nothing(
    undisturbed_home: Home, tmp_path: Path
) -> None:
    home = undisturbed_home.twin(tmp_path / "home")
    killed = 0
    for created in CREATED_PATHS:
        if (home.path / created).exists():
            continue  # created together with an earlier one
        with Pipeline(home) as pipeline:
            while not (home.path / created).exists() and pipeline.process.poll() is None:
                pass  # busy waiting, as polling with pauses would miss the moment of creation
            assert pipeline.process.poll() is None, f"ended before {created}: {pipeline.reported}"
            pipeline.kill_group()
        killed += 1
        assert_nothing_runs(home.path)
    assert killed >= MIN_KILLS
    home.must("run", *JOBS, "--once")
    home.must("audit")
    assert differences(home, undisturbed_home) == {}


@pytest.mark.parametrize("empty", ["ops/ledger", "bronze/kafka_records", "silver/events", "gold/attribution"])
def test_empty_delta_log_folder_is_recovered(undisturbed_home: Home, tmp_path: Path, empty: str) -> None:
    home = undisturbed_home.twin(tmp_path / "home")
    (home.path / "warehouse" / empty / "_delta_log").mkdir(parents=True)
    home.must("run", *JOBS, "--once")
    home.must("audit")
    assert differences(home, undisturbed_home) == {}


def test_job_killed_six_times_in_its_first_seconds_loses_nothing(
    undisturbed_home: Home, tmp_path: Path
) -> None:
    home = undisturbed_home.twin(tmp_path / "home")
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
    assert differences(home, undisturbed_home) == {}


@pytest.mark.parametrize("created", ["kafka", "kafka/data.draft", "kafka/data", "kafka/server.properties"])
def test_broker_killed_during_setup_can_be_started_again(tmp_path: Path, created: str) -> None:
    home = Home(tmp_path / "home", "", "events", {"MILLRACE_BROKER_PORT": str(stable_port())})
    env = {name: value for name, value in home.env.items() if name != "MILLRACE_KAFKA_BOOTSTRAP"}
    process = subprocess.Popen(
        command("up", "--broker"), env=env, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        eventually((home.path / created).exists, 60)
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
