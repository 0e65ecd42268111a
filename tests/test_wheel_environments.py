"""The wheel in fresh environments: with the Sparks it may find, with Databricks Connect, and with none."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from kit.bundle import jobs_of, tree_of
from kit.home import ROOT, Home
from lakehouse.bundle_file import BUNDLE_FILE, read_yaml
from test_house import PROJECT
from test_wheel import call, parameters

pytestmark = pytest.mark.long

SCRIPTS = sorted(set(PROJECT["project"]["scripts"]) - {"millrace"})
RUNTIME = read_yaml(ROOT / BUNDLE_FILE)["variables"]["spark_version"]["default"].split(".x")[0]
"""The runtime of the bundle's clusters, of which Databricks Connect has the same versions."""

ENVIRONMENTS = {
    "oldest": ("3.11", ["pyspark==4.0.1", "delta-spark==4.0.1"]),
    "newest": ("3.11", ["pyspark==4.2.0", "delta-spark==4.4.0"]),
    "connect": ("3.12", [f"databricks-connect=={RUNTIME}.*"]),
    "none": ("3.11", []),
}
"""By name: Python, and the packages that the environment has besides the wheel and what it asks for."""

UV = Path(sys.executable).with_name("uv")


@dataclass(frozen=True)
class Environment:
    name: str
    programs: Path

    @property
    def packages(self) -> dict[str, str]:
        found = _must(UV, "pip", "list", "--format", "json", "--python", self.programs / "python")
        return {each["name"]: each["version"] for each in json.loads(found)}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    _must(UV, "build", "--wheel", "--no-build-isolation", "--quiet", "-o", folder, ROOT)
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
    _must(UV, "pip", "install", "--quiet", "--python", place / "bin" / "python", wheel, *packages)
    return Environment(request.param, place / "bin")


def test_packages_are_those_of_the_environment(environment: Environment) -> None:
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


def test_each_entry_point_has_help_and_refuses_a_wrong_parameter_in_one_line(
    environment: Environment, new_home: Callable[..., Home]
) -> None:
    home = new_home()
    for script in SCRIPTS:
        helped = call(home, environment.programs / script, "--help")
        assert (helped.returncode, helped.stderr) == (0, ""), f"{script}: {helped.stderr}"
        assert helped.stdout.startswith(f"usage: {script} ")
        refused = call(home, environment.programs / script, "--catalogue=main")
        assert (refused.returncode, refused.stdout) == (2, ""), script
        (line,) = refused.stderr.splitlines()
        assert re.match(rf"{script}: unrecognized arguments: --catalogue=main", line)


def test_the_command_names_the_extra_that_it_needs_in_one_line(
    environment: Environment, new_home: Callable[..., Home]
) -> None:
    done = call(new_home(), environment.programs / "millrace", "--help")
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert "pip install 'millrace[local]'" in line


def test_a_job_without_a_spark_session_ends_in_one_line(
    environment: Environment, new_home: Callable[..., Home]
) -> None:
    home = new_home()
    done = call(home, environment.programs / "millrace-ingest", "--catalog=main", f"--home={home.path}")
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    reason = {
        "none": "the package pyspark isn't installed",
        "connect": "Databricks Connect gives no session",
    }.get(environment.name, "there is no Spark application to run in")
    assert line.startswith("millrace-ingest: ")
    assert reason in line


def test_jobs_run_in_the_spark_that_is_there(environment: Environment, new_home: Callable[..., Home]) -> None:
    if environment.name not in ("oldest", "newest"):
        pytest.skip("there is no Spark here")
    home = new_home()
    home.must("produce", "--events", "1000", "--seed", "3")
    names = ["ingest", "refine", "audit"]
    if environment.name == "oldest":  # whose connector for Kafka not every mirror has
        home.must("run", "ingest", "--once")
        names.remove("ingest")
    jobs = jobs_of(ROOT, "prod")
    calls = [
        [jobs[name].tasks[0].entry_point, *parameters(home, name), "--catalog=spark_catalog"]
        for name in names
    ]
    runner = ROOT / "tests" / "kit" / "given_spark.py"
    cluster = tree_of(ROOT, "prod")["resources"]["jobs"]["refine"]["job_clusters"][0]["new_cluster"]
    given = (json.dumps(calls), json.dumps(cluster["spark_conf"]))
    done = call(home, environment.programs / "python", runner, home.path, *given)
    assert done.returncode == 0, f"{done.stdout[-2000:]}{done.stderr[-4000:]}"
    rows = {table: int(count) for _, table, count in map(str.split, re.findall("ROWS.*", done.stdout))}
    assert list(rows) == ["bronze.kafka_records", "silver.events", "silver.sessions"]
    assert min(rows.values()) > 0
    assert "Audit ok" in done.stdout


def _python(version: str) -> str:
    """The Python of this process where it has the version, else whichever uv finds."""
    return sys.executable if version == f"{sys.version_info.major}.{sys.version_info.minor}" else version


def _has_python(version: str) -> bool:
    command = [UV, "python", "find", "--no-python-downloads", _python(version)]
    return subprocess.run(command, env=_env(version), capture_output=True, check=False).returncode == 0


def _env(version: str) -> dict[str, str]:
    """The environment, in which pyenv, where there is one, gives that Python."""
    return {**os.environ, "PYENV_VERSION": version}


def _must(*command: object) -> str:
    parts = [str(part) for part in command]
    return subprocess.run(parts, check=True, cwd=ROOT, text=True, stdout=subprocess.PIPE).stdout
