"""`millrace up` with a custom target: a job every minute, paused jobs, and an engine that is killed."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kit.home import ROOT, Home, recorded_runs
from kit.polling import eventually
from kit.processes import assert_nothing_runs
from millrace.local.process import process_registry
from millrace.local.process.ports import stable_port

TIMEOUT = 240  # seconds, on a busy machine
MINUTELY = """
  minutely:
    mode: development
    variables:
      home: ""
      kafka_secret_scope: ""
      node_type_id: ""
      run_as_service_principal: ""
      mlflow_tracking_uri: ""
    resources:
      jobs:
        attribution-model:
          schedule:
            quartz_cron_expression: 0 * * * * ?
            timezone_id: UTC
            pause_status: PAUSED
        maintenance:
          queue:
            enabled: true
          schedule:
            quartz_cron_expression: 0 * * * * ?
            timezone_id: Europe/Berlin
"""


@pytest.fixture
def home(new_home: Callable[..., Home], tmp_path: Path) -> Iterator[Home]:
    """A home whose commands run beside a bundle with an additional target."""
    place = tmp_path / "bundle"
    for folder in ("resources", "targets", "conf"):
        shutil.copytree(ROOT / folder, place / folder)
    bundle = (ROOT / "bundle.yml").read_text(encoding="utf-8")
    (place / "bundle.yml").write_text(f"{bundle}{MINUTELY}", encoding="utf-8")
    home = replace(new_home(MILLRACE_DASHBOARD_PORT=str(stable_port())), place=place)
    home.must("produce", "--events", "500", "--seed", "1")
    yield home
    home.must("down")
    assert_nothing_runs(home.path, seconds=1)


def status(home: Home) -> dict[str, Any]:
    reported: dict[str, Any] = json.loads(home.must("status", "--json"))
    return reported


def scheduled_runs(home: Home) -> int:
    """The number of successful runs of maintenance that its schedule started."""
    reported = recorded_runs(home.path, "maintenance")
    return sum((run["cause"], run["state"]) == ("schedule", "succeeded") for run in reported)


def test_scheduled_jobs_start_on_time_before_and_after_engine_kill(home: Home) -> None:
    reported = home.run("up", "--target", "minutely")
    assert reported.returncode == 0, reported.stderr
    assert "Left out on this machine: job maintenance: queue" in reported.stderr
    eventually(lambda: scheduled_runs(home), TIMEOUT, "maintenance has started on time")
    jobs = status(home)["jobs"]
    paused = {name for name, job in jobs.items() if job["state"] == "paused"}
    assert paused == {"attribution-model", "retention"}, "retention is, as bundle.yml is shipped"
    assert {jobs[name]["state"] for name in ("ingest", "refine", "publish")} == {"running"}
    assert jobs["maintenance"]["next_run"]
    assert not jobs["attribution-model"]["next_run"]
    assert recorded_runs(home.path, "attribution-model") == []

    engine = process_registry.running(home.path, "engine")
    assert engine is not None
    engine.kill()
    eventually(lambda: status(home)["processes"]["engine"]["restarts"] == 1, 60, "it is started again")
    assert "killed by SIGKILL" in status(home)["processes"]["engine"]["last_error"]
    done = scheduled_runs(home)
    eventually(lambda: scheduled_runs(home) > done, TIMEOUT, "maintenance begins on time again")
    ingest = [run["state"] for run in recorded_runs(home.path, "ingest")]
    assert ingest == ["broken off", "running"]
    assert status(home)["jobs"]["ingest"]["restarts"] == 1
    home.must("run", "attribution-model", "--once")  # a paused job can be run by hand
    assert [run["state"] for run in recorded_runs(home.path, "attribution-model")] == ["succeeded"]
