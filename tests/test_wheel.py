"""The built wheel, installed where there is no checkout, does what the bundle's jobs ask of it."""

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

NAMES = ("ingest", "refine", "publish", "attribution-model", "quality", "maintenance")
"""Jobs of the bundle on a workspace that start by themselves, in an order in which each finds its input."""

ENTRY_POINTS = {name: job.tasks[0].entry_point for name, job in jobs_of(ROOT, "prod").items()}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a fresh environment with the wheel, and beside it the packages that this one has.

    Those are named by a path, not installed again: the wheel's own Millrace comes first.
    """
    place = tmp_path_factory.mktemp("elsewhere")
    uv = Path(sys.executable).with_name("uv")
    _must(uv, "build", "--wheel", "--no-build-isolation", "--quiet", "-o", place / "dist", ROOT)
    _must(sys.executable, "-m", "venv", "--without-pip", place / "env")
    (wheel,) = (place / "dist").glob("*.whl")
    python = place / "env" / "bin" / "python"
    _must(uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", python, wheel)
    (site,) = (place / "env" / "lib").glob("python*/site-packages")
    (site / "others.pth").write_text(sysconfig.get_path("purelib"))
    return place / "env" / "bin"


def _must(*command: object) -> None:
    subprocess.run([str(part) for part in command], check=True, cwd=ROOT)


def call(home: Home, *command: object) -> subprocess.CompletedProcess[str]:
    """Run a program outside of any checkout, without a setting of Millrace in its environment."""
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
        parts, env=bare | kept, cwd=home.path.parent, capture_output=True, text=True, check=False, timeout=900
    )


def parameters(home: Home, name: str) -> list[str]:
    """The parameters that the bundle calls a job with on a workspace, its places being those of this home."""
    ours = {
        "catalog": "",
        "home": str(home.path),
        "kafka_bootstrap": home.bootstrap,
        "events_topic": home.topic,
        "exchange_rates_topic": home.rates_topic,
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


def test_the_wheel_has_every_file_of_src(installed: Path) -> None:
    (site,) = (installed.parent / "lib").glob("python*/site-packages")
    listed = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [Path(name).relative_to("src") for name in listed.stdout.splitlines()]
    assert files
    assert [
        str(file) for file in files if (ROOT / "src" / file).exists() and not (site / file).exists()
    ] == []


@pytest.mark.long
def test_each_job_runs_as_a_runner_calls_it(installed: Path, new_home: Callable[..., Home]) -> None:
    home = new_home()
    home.must("produce", "--events", "2000", "--seed", "3")

    alone = call(home, installed / "millrace-ingest", *parameters(home, "ingest"))  # no session is there
    assert (alone.returncode, alone.stdout) == (0, ""), alone.stderr

    calls = [[ENTRY_POINTS[name], *parameters(home, name)] for name in NAMES]
    runner = Path(__file__).parent / "kit" / "wheel_runner.py"
    done = call(home, installed / "python", runner, home.path, json.dumps(calls))
    assert done.returncode == 0, done.stderr[-3000:]
    places = dict(line.split(" ", 1) for line in done.stdout.splitlines() if line.startswith("millrace-"))
    assert list(places) == [ENTRY_POINTS[name] for name in NAMES]
    assert {Path(place).is_relative_to(installed.parent) for place in places.values()} == {True}

    home.must("audit")
    assert int(home.sql("SELECT count(*) FROM gold.conversions")[0][0]) > 0
    assert int(home.sql("SELECT count(*) FROM gold.channel_credit")[0][0]) > 0
    version = "SELECT count(DISTINCT rules_version) FROM silver.events"
    assert home.sql(version) == [["1"]]


@pytest.mark.parametrize("name", [*NAMES, *OPERATIONS])
def test_each_entry_point_says_what_it_takes_and_refuses_the_rest(
    installed: Path, new_home: Callable[..., Home], name: str
) -> None:
    home = new_home()
    program = installed / ENTRY_POINTS[name]
    reported = call(home, program, "--help")
    assert reported.returncode == 0
    assert "--events_topic" in reported.stdout
    assert "--trigger" in reported.stdout
    wrongs = ("--event=x", "--trigger=sometimes", "now")  # a beginning of a name is no name
    for wrong in wrongs if name == NAMES[0] else wrongs[:1]:
        refused = call(home, program, wrong)
        assert refused.returncode == 2
        (line,) = refused.stderr.splitlines()
        assert wrong.split("=")[-1] in line or wrong in line
