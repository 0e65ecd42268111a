"""Checks of a bundle before deployment. Each check gets the bundle's folder."""

import ast
import json
import re
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from kit.home import ROOT
from lakehouse.bundle_file import BUNDLE_FILE, read_yaml
from lakehouse.settings import Settings
from millrace.environment.app_requirements import app_requirements
from millrace.local.bundle.bundle_resolver import Tree, read_tree, resolve
from millrace.local.bundle.jobs import BundleJob, read_jobs
from millrace.local.bundle.quartz import quartz_trigger

SCHEMA = ROOT.parent / "shared" / "data" / "bundle.schema.json"
TARGETS = ("dev", "prod", "local")
WORKSPACES = TARGETS[:2]
_CHOICES = ("serverless", "clusters")
"""Variables for the kind of compute, of which one is used at a time."""

OPERATIONS = {
    "audit": set[str](),
    "recover": {"topic", "option", "by"},
    "erase": {"request", "user", "visitor", "reference"},
    "explain": {"conversion"},
    "gate": set[str](),
    "rebuild": {"tables"},
    "release": {"by", "reason"},
    "replay": {"by", "reason"},
}
"""Jobs that are started manually on a workspace, with their parameters."""

REQUIRED = {"catalog": "main", "kafka_bootstrap": "host:9092", "node_type_id": "i3.xlarge"}
"""Variables without a default, on every workspace target."""

_PRINCIPAL = "11111111-2222-4333-8444-555555555555"
_GIVEN: dict[str, dict[str, object]] = {
    "dev": {**REQUIRED},
    "prod": {**REQUIRED, "run_as_service_principal": _PRINCIPAL},
    "local": {"catalog": "", "kafka_bootstrap": ""},
}


def files_of(root: Path) -> list[Path]:
    """bundle.yml and the files it includes."""
    included = [file for pattern in read_yaml(root / BUNDLE_FILE)["include"] for file in root.glob(pattern)]
    return [root / BUNDLE_FILE, *sorted(included)]


def tree_of(root: Path, target: str, user: str = "ann", **variables: object) -> Tree:
    """The bundle of a target with all references resolved.

    Args:
        root: folder of bundle.yml.
        target: one of its targets.
        user: the deploying user.
        variables: variable values of the deployment.
    """
    return resolve(read_tree(root, target), {**_GIVEN[target], **variables}, user)


def jobs_of(root: Path, target: str, **variables: object) -> dict[str, BundleJob]:
    """The jobs of a target, as `millrace` reads them: a task of a continuous job is a job."""
    return read_jobs(tree_of(root, target, **variables))


def check_schema(root: Path) -> None:
    """Each file, and the resources of each target, match the published bundle schema."""
    text = SCHEMA.read_text(encoding="utf-8")
    text = text.replace(r"[\\p{L}\\p{N}]", r"[^\\W_]").replace(r"\\p{L}", r"[^\\W\\d_]")  # Python has no \p
    validator = jsonschema.Draft202012Validator(json.loads(text))
    parts = {file.name: _without_overrides(read_yaml(file)) for file in files_of(root)}
    for target in TARGETS:  # a single override lacks required fields of the schema
        parts[target] = {"resources": read_tree(root, target)["resources"]}
    for name, part in parts.items():
        for error in validator.iter_errors(part):
            raise AssertionError(f"{name}: {error.json_path}: {jsonschema.exceptions.best_match([error])}")


def _without_overrides(tree: Tree) -> Tree:
    targets = {
        name: {key: value for key, value in target.items() if key != "resources"}
        for name, target in tree.get("targets", {}).items()
    }
    return {**tree, **({"targets": targets} if targets else {})}


def check_entry_points(root: Path, scripts: dict[str, str]) -> None:
    """Each task runs an entry point of the wheel that accepts the task's parameters."""
    for target in TARGETS:
        for name, job in jobs_of(root, target).items():
            assert job.tasks, f"{target}: {name} has no task"
            extra = tuple(f"--{each}={each}" for each in OPERATIONS.get(name, ()))
            for task in job.tasks:
                assert task.entry_point in scripts, f"{target}: {name}: {task.entry_point} isn't there"
                try:
                    task.job.parse((*task.parameters, *extra))
                except SystemExit:
                    raise AssertionError(f"{target}: {task.entry_point} refuses {task.parameters}") from None


def check_references(root: Path) -> None:
    """Every reference resolves in every target. Every variable has a description and is used."""
    for target in TARGETS:
        tree_of(root, target)
    variables = read_yaml(root / BUNDLE_FILE)["variables"]
    mute = [name for name, reported in variables.items() if not reported.get("description")]
    assert not mute, f"variables without a description: {mute}"
    texts = "".join(file.read_text(encoding="utf-8") for file in files_of(root))
    idle = [
        name for name in variables if not re.search(rf"\$\{{var\.{name}[}}.]", texts) and name not in _CHOICES
    ]
    assert not idle, f"variables that nothing refers to: {idle}"


def check_paths(root: Path) -> None:
    """Every path, relative to its file, exists or is built by the artifact."""
    built = [
        root / reported.get("path", ".") / "dist"
        for reported in read_yaml(root / BUNDLE_FILE)["artifacts"].values()
    ]
    for file in files_of(root):
        for key, reported in leaves(read_yaml(file)):
            if key == "source_code_path":
                assert (file.parent / reported / "app.yaml").is_file(), (
                    f"{file.name}: {reported} has no app.yaml"
                )
            elif reported.startswith(("./", "../")):
                place = (file.parent / reported).resolve()
                assert place.exists() or place.parent in built, f"{file.name}: {reported} leads nowhere"


def check_schedules(root: Path) -> None:
    """Every job is continuous, has a valid schedule, or is started manually."""
    for target in TARGETS:
        for name, job in jobs_of(root, target).items():
            started_by_hand = target in WORKSPACES and name in OPERATIONS
            assert job.continuous or job.schedule or started_by_hand, f"{target}: nothing starts {name}"
            if job.schedule:
                quartz_trigger(job.schedule.expression, job.schedule.time_zone)


def check_app(root: Path) -> None:
    """The apps pin their packages as in the lock file, start existing files, and use their variables."""
    lock = (root / "requirements.lock").read_text(encoding="utf-8")
    for folder, name in (("dashboards", "dashboard"), ("collector", "collector"), ("api", "api")):
        pinned = (root / folder / "requirements.txt").read_text(encoding="utf-8")
        assert pinned == app_requirements(lock, folder), (
            f"{folder}/requirements.txt: run make app-requirements"
        )
        names = set(re.findall(r"^([\w.-]+)==", pinned, re.MULTILINE))
        lacking = _imported(root / folder) - names
        assert not lacking, f"{folder}/requirements.txt lacks {lacking}"
        command = yaml.safe_load((root / folder / "app.yaml").read_text(encoding="utf-8"))["command"]
        for file in (each for each in command if each.endswith(".py")):
            assert (root / folder / file).is_file(), f"{folder}/app.yaml: there is no {file}"
        assert (root / folder / "run.py").read_bytes() == (root / "collector" / "run.py").read_bytes()
        asked = _asked_for(root / folder) if folder == "dashboards" else _settings()
        asked |= _asked_for(ROOT / "src" / "lakehouse")
        for target in TARGETS:
            reported = tree_of(root, target)["resources"]["apps"][name]["config"]
            assert reported["command"] == command, f"{target}: {folder}/app.yaml has another command"
            idle = {variable["name"] for variable in reported["env"]} - asked
            assert not idle, f"{target}: the app does not ask for {idle}"


def _settings() -> set[str]:
    return {f"MILLRACE_{name.upper()}" for name in Settings.model_fields}


def _asked_for(folder: Path) -> set[str]:
    """Environment variables named in the files of a folder."""
    texts = (file.read_text(encoding="utf-8") for file in folder.rglob("*.py"))
    return set(re.findall(r'"([A-Z]+(?:_[A-Z]+)+)"', "\n".join(texts)))


def _imported(folder: Path) -> set[str]:
    """Distributions imported by the files of a folder, without the standard library and own modules."""
    found = set[str]()
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            found |= {name.split(".")[0] for name in names}
    own = {path.stem for path in folder.iterdir()} | {
        "folds",
        "lakehouse",
        "millrace",
        "privacy",
    }  # of the wheel
    distributions = packages_distributions() | {
        "databricks": ["databricks-sql-connector"]
    }  # a namespace package of several distributions
    return {distributions.get(name, [name])[0] for name in found - own - set(sys.stdlib_module_names)}


def leaves(reported: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """The texts in a tree, each with the key above it."""
    if isinstance(reported, dict):
        for name, each in reported.items():
            yield from leaves(each, name)
    elif isinstance(reported, list):
        for each in reported:
            yield from leaves(each, key)
    elif isinstance(reported, str):
        yield key, reported
