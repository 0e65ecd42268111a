"""The built wheel, installed without a checkout, runs the jobs of the bundle."""

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from kit.bundle import OPERATIONS, jobs_of
from kit.home import ROOT, Home

JOB_NAMES = ("ingest", "refine", "publish", "attribution-model", "quality", "maintenance")
"""Jobs that a workspace starts automatically, ordered so that each finds its input."""

ENTRY_POINTS = {name: job.tasks[0].entry_point for name, job in jobs_of(ROOT, "prod").items()}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a new environment with the wheel and with the packages of this environment.

    A .pth file adds these packages without installing them; the wheel's Millrace precedes them on the path.
    """
    place = tmp_path_factory.mktemp("elsewhere")
    uv = Path(sys.executable).with_name("uv")
    _run_checked(uv, "build", "--wheel", "--no-build-isolation", "--quiet", "-o", place / "dist", ROOT)
    _run_checked(sys.executable, "-m", "venv", "--without-pip", place / "env")
    (wheel,) = (place / "dist").glob("*.whl")
    python = place / "env" / "bin" / "python"
    _run_checked(uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", python, wheel)
    (site,) = (place / "env" / "lib").glob("python*/site-packages")
    (site / "others.pth").write_text(sysconfig.get_path("purelib"))
    return place / "env" / "bin"


def _run_checked(*command: object) -> None:
    subprocess.run([str(part) for part in command], check=True, cwd=ROOT)


def run_program(home: Home, *command: object) -> subprocess.CompletedProcess[str]:
    """Run a program outside any checkout, without Millrace settings in its environment."""
    bare = {
        name: reported
        for name, reported in os.environ.items()
        if not name.startswith(("MILLRACE_", "PYTHON"))
    }
    kept = {
        name: reported
        for name, reported in home.env.items()
        if name in ("MILLRACE_CACHE", "MILLRACE_IVY_SETTINGS")
    }
    parts = [str(part) for part in command]
    return subprocess.run(
        parts,
        env=bare | kept,
        cwd=home.path.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )


def job_parameters(home: Home, name: str) -> list[str]:
    """The parameters of a job as the bundle passes them on a workspace, with the locations of this home."""
    ours = {
        "catalog": "",
        "home": str(home.path),
        "kafka_bootstrap": home.bootstrap,
        "events_topic": home.topic,
        "exchange_rates_topic": home.rates_topic,
        "campaign_costs_topic": home.costs_topic,
        "shop_changes_topic": home.shop_topic,
        "mlflow_tracking_uri": "",
        "mlflow_experiment": "attribution-model",
        "mlflow_quality_experiment": "quality",
        "mlflow_model": "attribution-model",
        "kafka_secret_scope": "",
    }
    job = jobs_of(ROOT, "prod", trigger="available-now")[name]
    theirs = dict(parameter.removeprefix("--").split("=", 1) for parameter in job.tasks[0].parameters)
    assert not ours.keys() - theirs.keys()
    return [f"--{key}={value}" for key, value in {**theirs, **ours}.items()]


def test_wheel_contains_every_file_of_src(installed: Path) -> None:
    (site,) = (installed.parent / "lib").glob("python*/site-packages")
    listed = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [Path(name).relative_to("src") for name in listed.stdout.splitlines()]
    assert files
    assert [
        str(file) for file in files if (ROOT / "src" / file).exists() and not (site / file).exists()
    ] == []


@pytest.mark.long
def test_jobs_of_installed_wheel_run_alone_and_in_one_process(
    installed: Path, new_home: Callable[..., Home]
) -> None:
    home = new_home()
    home.must("produce", "--events", "2000", "--seed", "3")

    alone = run_program(
        home, installed / "millrace-ingest", *job_parameters(home, "ingest")
    )  # without a Spark session
    assert (alone.returncode, alone.stdout) == (0, ""), alone.stderr

    calls = [[ENTRY_POINTS[name], *job_parameters(home, name)] for name in JOB_NAMES]
    runner = Path(__file__).parent / "kit" / "wheel_runner.py"
    done = run_program(home, installed / "python", runner, home.path, json.dumps(calls))
    assert done.returncode == 0, done.stderr[-3000:]
    places = dict(line.split(" ", 1) for line in done.stdout.splitlines() if line.startswith("millrace-"))
    assert list(places) == [ENTRY_POINTS[name] for name in JOB_NAMES]
    assert {Path(place).is_relative_to(installed.parent) for place in places.values()} == {True}

    home.must("audit")
    assert int(home.sql("SELECT count(*) FROM gold.conversions")[0][0]) > 0
    assert int(home.sql("SELECT count(*) FROM gold.channel_credit")[0][0]) > 0
    version = "SELECT count(DISTINCT rules_version) FROM silver.events"
    assert home.sql(version) == [["1"]]


@pytest.mark.parametrize("name", [*JOB_NAMES, *OPERATIONS])
def test_entry_point_prints_help_and_rejects_unknown_parameters(
    installed: Path, new_home: Callable[..., Home], name: str
) -> None:
    home = new_home()
    program = installed / ENTRY_POINTS[name]
    reported = run_program(home, program, "--help")
    assert reported.returncode == 0
    assert "--events_topic" in reported.stdout
    assert "--trigger" in reported.stdout
    wrongs = ("--event=x", "--trigger=sometimes", "now")  # abbreviated names are rejected
    for wrong in wrongs if name == JOB_NAMES[0] else wrongs[:1]:
        refused = run_program(home, program, wrong)
        assert refused.returncode == 2
        (line,) = refused.stderr.splitlines()
        assert wrong.split("=")[-1] in line or wrong in line
