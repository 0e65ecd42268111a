"""The bundle is right: to its schema, and to what it names. Each check is shown to fail."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kit import bundle
from kit.bundle import TARGETS, jobs_of, tree_of
from kit.home import JOBS, ROOT
from lakehouse.errors import MillraceError
from test_house import PROJECT

SCRIPTS: dict[str, str] = PROJECT["project"]["scripts"]
CHECKS: dict[str, Callable[[Path], None]] = {
    "entry points": lambda root: bundle.check_entry_points(root, SCRIPTS),
    "references": bundle.check_references,
    "paths": bundle.check_paths,
    "schedules": bundle.check_schedules,
    "compute": bundle.check_compute,
    "app": bundle.check_app,
    "schema": bundle.check_schema,
}


def check(name: str, root: Path) -> None:
    if name == "schema" and not bundle.SCHEMA.is_file():
        pytest.skip("../shared/data/bundle.schema.json is not there")
    CHECKS[name](root)


@pytest.mark.parametrize("name", CHECKS)
def test_the_bundle_is_right(name: str) -> None:
    check(name, ROOT)


@pytest.mark.parametrize(
    ("name", "file", "right", "wrong"),
    [
        ("entry points", "resources/refine.job.yml", "millrace-refine", "millrace-refined"),
        ("entry points", "bundle.yml", "      trigger: ${var.trigger}", "      triger: ${var.trigger}"),
        ("entry points", "bundle.yml", "default: available-now", "default: now and then"),
        ("references", "resources/schemas.yml", "${var.catalog}", "${var.catalogue}"),
        ("references", "bundle.yml", "registered_models.attribution-model.id", "registered_models.model.id"),
        ("references", "bundle.yml", "events_topic: ${var.events_topic}", "events_topic: events"),
        ("paths", "resources/dashboard.app.yml", "../dashboards", "../dashboard"),
        ("paths", "resources/serverless.yml", "../dist/*.whl", "./dist/*.whl"),
        ("schedules", "resources/maintenance.job.yml", "0 10,40 * * * ?", "0 10,40 * * *"),
        ("schedules", "bundle.yml", "default: UTC", "default: Middle/Earth"),
        ("compute", "resources/classic.yml", "job_cluster_key: default\n              lib", "lib"),
        ("app", "dashboards/requirements.txt", "streamlit==", "streamlit==0."),
        ("app", "dashboards/app.yaml", "app.py", "nowhere.py"),
        ("app", "resources/dashboard.app.yml", "app.py", "page.py"),
        ("app", "resources/dashboard.app.yml", "MILLRACE_CATALOG", "MILLRACE_CATALOGUE"),
        ("schema", "resources/state.volume.yml", "volume_type", "volume_kind"),
        ("schema", "bundle.yml", "mode: production", "modus: production"),
    ],
)
def test_what_is_wrong_is_found(tmp_path: Path, name: str, file: str, right: str, wrong: str) -> None:
    root = tmp_path / "bundle"
    for folder in ("resources", "dashboards"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for single in ("bundle.yml", "requirements.lock"):
        shutil.copy(ROOT / single, root)
    text = (root / file).read_text(encoding="utf-8")
    assert right in text
    (root / file).write_text(text.replace(right, wrong), encoding="utf-8")
    with pytest.raises((AssertionError, MillraceError)):
        check(name, root)


def test_locally_streams_go_on_and_on_a_workspace_they_end() -> None:
    assert {name for name, job in jobs_of(ROOT, "local").items() if job.is_continuous} == set(JOBS)
    for target in TARGETS:
        tasks = [task for job in jobs_of(ROOT, target).values() for task in job.tasks]
        assert {task.job.parse(task.parameters).once for task in tasks} == {target != "local"}


def test_on_a_workspace_who_writes_the_same_tables_takes_turns() -> None:
    for target in bundle.WORKSPACES:
        jobs = jobs_of(ROOT, target)
        assert [task.key for task in jobs["refine"].tasks] == ["refine", "repair"]
        assert jobs["repair"].is_paused


def test_a_copy_of_ones_own_begins_nothing_by_itself() -> None:
    paused = {
        target: [job.name for job in jobs_of(ROOT, target).values() if job.is_paused] for target in TARGETS
    }
    assert paused == {
        "local": [],
        "dev": list(jobs_of(ROOT, "dev")),
        "prod": ["repair"],
        "classic": ["repair"],
    }


def test_production_has_a_place_of_its_own_and_says_who_runs_it() -> None:
    for target in ("prod", "classic"):
        tree = tree_of(ROOT, target)
        assert tree["mode"] == "production"
        assert target in tree["workspace"]["root_path"]
        assert "Users" not in tree["workspace"]["root_path"]
        assert {told["level"] for told in tree["permissions"]} == {"CAN_MANAGE", "CAN_VIEW"}
        assert [name for name, job in tree["resources"]["jobs"].items() if not job.get("run_as")] == []
        assert "run_as" not in tree  # of all: an app can't have it


@pytest.mark.parametrize("target", TARGETS)
def test_names_are_those_a_workspace_takes(target: str) -> None:
    resources = tree_of(ROOT, target)["resources"]
    assert all(re.fullmatch(r"[a-z0-9-]{2,30}", app["name"]) for app in resources["apps"].values())
    assert {schema["name"] for schema in resources["schemas"].values()} == {"bronze", "silver", "gold", "ops"}
