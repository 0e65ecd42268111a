"""Workspace jobs import no package that only the extra `local` installs."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from test_house import PROJECT

_OF_THE_WORKSPACE = {"pyspark", "py4j", "delta-spark"}
_TARGET = re.compile(r'"((?:\w+\.)+\w+)(?::\w+)?"')
_SCRIPT = """
import importlib, sys
missing = set(sys.argv[1].split(","))

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(f"No module named {name}")

sys.meta_path.insert(0, Missing())
for module in sys.argv[2:]:
    importlib.import_module(module)
"""


def packages_of_extra_local() -> set[str]:
    """Top-level packages of distributions that the wheel does not install, but its extra `local` does."""
    project = PROJECT["project"]
    extra = installed_with(project["optional-dependencies"]["local"])
    only = extra - installed_with(project["dependencies"]) - _OF_THE_WORKSPACE
    found = packages_distributions().items()
    return {package for package, names in found if only.issuperset(map(canonicalize_name, names))}


def installed_with(requirements: Iterable[str]) -> set[str]:
    """Names of distributions that requirements install, with all that these need."""
    found, pending = set[str](), [Requirement(each) for each in requirements]
    seen = set[tuple[str, frozenset[str]]]()
    while pending:
        wanted = pending.pop()
        name, extras = canonicalize_name(wanted.name), frozenset(wanted.extras)
        if (name, extras) not in seen:
            seen.add((name, extras))
            found.add(name)
            pending += needed_by(name, extras)
    return found


def needed_by(name: str, extras: frozenset[str]) -> Iterator[Requirement]:
    try:
        lines = distribution(name).requires or ()
    except PackageNotFoundError:  # not for this platform
        return
    for needed in map(Requirement, lines):
        if needed.marker is None or any(needed.marker.evaluate({"extra": each}) for each in ("", *extras)):
            yield needed


def modules_of_jobs() -> list[str]:
    """Modules of the entry points of jobs, of the jobs' functions, and those that the latter import."""
    entries = [
        each.module for each in distribution("millrace").entry_points if each.name.startswith("millrace-")
    ]
    targets = [target for entry in entries for target in _TARGET.findall(source_of(entry).read_text())]
    bodies = dict.fromkeys(target for target in targets if target.split(".")[0] in top_level())
    return list(dict.fromkeys([*entries, *bodies, *(each for body in bodies for each in imported(body))]))


def imported(module: str) -> Iterator[str]:
    """What a module imports, within its functions as well."""
    for node in ast.walk(ast.parse(source_of(module).read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in top_level():
            yield node.module


def source_of(module: str) -> Path:
    spec = find_spec(module)
    assert spec is not None, module
    return Path(str(spec.origin))


def top_level() -> set[str]:
    return {folder.name for folder in (Path(__file__).parents[1] / "src").iterdir() if folder.is_dir()}


def test_workspace_jobs_import_no_package_of_extra_local() -> None:
    missing, modules = packages_of_extra_local(), modules_of_jobs()
    assert {"deltalake", "polars", "streamlit", "typer"} <= missing
    assert {"bronze.job", "millrace.operations.erase", "gold.models.model_job"} <= set(modules)
    command = [sys.executable, "-c", _SCRIPT, ",".join(sorted(missing)), *modules]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
