"""The wheel in new environments: with old and new Spark, with Databricks Connect, and without Spark."""

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from kit.bundle import jobs_of, tree_of
from kit.home import ROOT, Home
from lakehouse.bundle_file import BUNDLE_FILE, read_yaml
from test_house import PROJECT
from test_wheel import job_parameters, run_program

pytestmark = pytest.mark.long

SCRIPTS = sorted(set(PROJECT["project"]["scripts"]) - {"millrace"})
RUNTIME = read_yaml(ROOT / BUNDLE_FILE)["variables"]["spark_version"]["default"].split(".x")[0]
"""The runtime version of the bundle's clusters; Databricks Connect uses the same version numbers."""

ENVIRONMENTS = {
    "oldest": ("3.11", ["pyspark==4.0.1", "delta-spark==4.0.1"]),
    "newest": ("3.11", ["pyspark==4.2.0", "delta-spark==4.4.0"]),
    "connect": ("3.12", [f"databricks-connect=={RUNTIME}.*"]),
    "none": ("3.11", []),
}
"""By name: the Python version, and the packages in addition to the wheel and its dependencies."""

UV = Path(sys.executable).with_name("uv")


@dataclass(frozen=True)
class Environment:
    name: str
    programs: Path

    @property
    def packages(self) -> dict[str, str]:
        found = _run_checked(UV, "pip", "list", "--format", "json", "--python", self.programs / "python")
        return {each["name"]: each["version"] for each in json.loads(found)}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    _run_checked(UV, "build", "--wheel", "--no-build-isolation", "--quiet", "-o", folder, ROOT)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module", params=ENVIRONMENTS)
def environment(
    request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Environment:
    python, packages = ENVIRONMENTS[request.param]
    place = tmp_path_factory.mktemp(request.param) / "env"
    if not _has_python(python):
        pytest.skip(f"there is no Python {python}")
    command = [UV, "venv", "--quiet", "--python", _python(python), place]
    subprocess.run(command, check=True, env=_env(python))
    _run_checked(UV, "pip", "install", "--quiet", "--python", place / "bin" / "python", wheel, *packages)
    return Environment(request.param, place / "bin")


def test_wheel_installs_no_spark_of_its_own(environment: Environment) -> None:
    found = environment.packages
    wanted = {
        "oldest": {"pyspark": "4.0.1", "delta-spark": "4.0.1"},
        "newest": {"pyspark": "4.2.0", "delta-spark": "4.4.0"},
        "connect": {"databricks-connect": f"{RUNTIME}."},
        "none": {},
    }[environment.name]
    for name, version in wanted.items():
        assert found[name].startswith(version), f"{name} {found[name]}"
    spark = {"pyspark", "delta-spark", "databricks-connect"}
    assert spark & found.keys() == wanted.keys(), "the wheel brings no Spark of its own"


def test_entry_points_print_help_and_reject_unknown_parameter_in_one_line(
    environment: Environment, new_home: Callable[..., Home]
) -> None:
    home = new_home()
    for script in SCRIPTS:
        helped = run_program(home, environment.programs / script, "--help")
        assert (helped.returncode, helped.stderr) == (0, ""), f"{script}: {helped.stderr}"
        assert helped.stdout.startswith(f"usage: {script} ")
        refused = run_program(home, environment.programs / script, "--catalogue=main")
        assert (refused.returncode, refused.stdout) == (2, ""), script
        (line,) = refused.stderr.splitlines()
        assert re.match(rf"{script}: unrecognized arguments: --catalogue=main", line)


def test_command_without_extra_local_names_it_in_one_line(
    environment: Environment, new_home: Callable[..., Home]
) -> None:
    done = run_program(new_home(), environment.programs / "millrace", "--help")
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert "the extra `local`" in line


def test_job_without_spark_session_fails_with_one_line(
    environment: Environment, new_home: Callable[..., Home]
) -> None:
    home = new_home()
    done = run_program(
        home, environment.programs / "millrace-ingest", "--catalog=main", f"--home={home.path}"
    )
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    reason = {
        "none": "the package pyspark isn't installed",
        "connect": "Databricks Connect gives no session",
    }.get(environment.name, "there is no Spark application to run in")
    assert line.startswith("millrace-ingest: ")
    assert reason in line


def test_jobs_run_in_installed_spark(environment: Environment, new_home: Callable[..., Home]) -> None:
    if environment.name not in ("oldest", "newest"):
        pytest.skip("there is no Spark here")
    home = new_home()
    home.must("produce", "--events", "1000", "--seed", "3")
    names = ["ingest", "refine", "publish", "erase", "retention", "audit"]
    if environment.name == "oldest":  # not every mirror has its Kafka connector
        home.must("run", "ingest", "--once")
        names.remove("ingest")
    jobs = jobs_of(ROOT, "prod")
    own = defaultdict(list, erase=["--visitor={visitor}"])
    calls = [
        [jobs[name].tasks[0].entry_point, *job_parameters(home, name), "--catalog=spark_catalog", *own[name]]
        for name in names
    ]
    runner = ROOT / "tests" / "kit" / "given_spark.py"
    cluster = tree_of(ROOT, "prod")["resources"]["jobs"]["streams"]["job_clusters"][0]["new_cluster"]
    given = (json.dumps(calls), json.dumps(cluster["spark_conf"]))
    done = run_program(home, environment.programs / "python", runner, home.path, *given)
    assert done.returncode == 0, f"{done.stdout[-2000:]}{done.stderr[-4000:]}"
    rows = {table: int(count) for _, table, count in map(str.split, re.findall("ROWS.*", done.stdout))}
    assert list(rows) == ["bronze.kafka_records", "silver.events", "silver.sessions", "gold.attribution"]
    assert min(rows.values()) > 0
    (certificate,) = home.path.glob("privacy/certificates/*.json")
    says = json.loads(certificate.read_bytes())["certificate"]
    assert (says["erasure"]["state"], says["found"], says["not_searched"]) == ("erased", [], [])
    assert "Audit ok" in done.stdout


def _python(version: str) -> str:
    """The interpreter of this process if it has the version, else the version for uv to find."""
    return sys.executable if version == f"{sys.version_info.major}.{sys.version_info.minor}" else version


def _has_python(version: str) -> bool:
    command = [UV, "python", "find", "--no-python-downloads", _python(version)]
    return subprocess.run(command, env=_env(version), capture_output=True, check=False).returncode == 0


def _env(version: str) -> dict[str, str]:
    """Environment variables that make pyenv, if installed, select that Python version."""
    return {**os.environ, "PYENV_VERSION": version}


def _run_checked(*command: object) -> str:
    parts = [str(part) for part in command]
    return subprocess.run(parts, check=True, cwd=ROOT, text=True, stdout=subprocess.PIPE).stdout
