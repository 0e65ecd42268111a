"""The bundle passes every check, and each check fails on a broken copy of the bundle."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kit import bundle, deployment
from kit.bundle import OPERATIONS, TARGETS, WORKSPACES, jobs_of, tree_of
from kit.home import JOBS, ROOT
from lakehouse.errors import MillraceError
from millrace.local.bundle.bundle_resolver import read_tree, resolve
from millrace.local.bundle.jobs import BundleJob, read_job, read_jobs
from test_house import PROJECT

SCRIPTS: dict[str, str] = PROJECT["project"]["scripts"]
CHECKS: dict[str, Callable[[Path], None]] = {
    "entry points": lambda root: bundle.check_entry_points(root, SCRIPTS),
    "references": bundle.check_references,
    "paths": bundle.check_paths,
    "schedules": bundle.check_schedules,
    "app": bundle.check_app,
    "schema": bundle.check_schema,
    **deployment.CHECKS,
}


_REFINE = "- task_key: refine\n"
_REFINE_AFTER_INGEST = f"{_REFINE}          depends_on: [{{task_key: ingest}}]\n"
_RUN_AS_DEPLOYER = "run_as: {user_name: '${workspace.current_user.userName}'}"
_OWN_EXPERIMENT = "Users/${workspace.current_user.userName}/${bundle.name}-${var.copy}-quality"


def check(name: str, root: Path) -> None:
    if name == "schema" and not bundle.SCHEMA.is_file():
        pytest.skip("../shared/data/bundle.schema.json is not there")
    CHECKS[name](root)


@pytest.mark.parametrize("name", CHECKS)
def test_bundle_passes_check(name: str) -> None:
    check(name, ROOT)


@pytest.mark.parametrize(
    ("name", "file", "right", "wrong"),
    [
        ("entry points", "resources/streams.job.yml", "millrace-publish", "millrace-published"),
        ("entry points", "targets/settings.yml", "- name: trigger", "- name: triger"),
        ("entry points", "bundle.yml", "default: continuous", "default: now and then"),
        ("references", "resources/schemas.yml", "${var.catalog}", "${var.catalogue}"),
        ("references", "bundle.yml", "registered_models.channel-credit.id", "registered_models.model.id"),
        ("references", "targets/settings.yml", "${var.exchange_rates_topic}", "rates"),
        ("paths", "resources/dashboard.app.yml", "../dashboards", "../dashboard"),
        ("paths", "bundle.yml", "- ./dist/*.whl", "- ../dist/*.whl"),
        ("schedules", "bundle.yml", "0 10,40 * * * ?", "0 10,40 * * *"),
        ("schedules", "bundle.yml", "default: UTC", "default: Middle/Earth"),
        ("one production", "bundle.yml", "environment_key: default\n      environments", "environments"),
        ("app", "dashboards/requirements.txt", "streamlit==", "streamlit==0."),
        ("app", "dashboards/app.yaml", "app.py", "nowhere.py"),
        ("app", "resources/dashboard.app.yml", "app.py", "page.py"),
        ("app", "resources/dashboard.app.yml", "MILLRACE_CATALOG", "MILLRACE_CATALOGUE"),
        ("schema", "resources/state.volume.yml", "volume_type", "volume_kind"),
        ("schema", "bundle.yml", "mode: production", "modus: production"),
        (
            "whole variables",
            "bundle.yml",
            "on_failure: ${var.notify}",
            "on_failure: ${var.compute.kind}",
        ),
        ("keys", "resources/alerts.yml", "gold-held:", "gate:"),
        ("required", "bundle.yml", "kafka_bootstrap:\n", "kafka_bootstrap:\n    default: host:9092\n"),
        ("required", "bundle.yml", "each copy needs one of its own\n", "x\n    default: main\n"),
        ("kept", "targets/prod.yml", "prevent_destroy: true", "prevent_destroy: false"),
        ("kept", "targets/prod.yml", "state:\n          lifecycle: *kept", "state:"),
        ("continuous", "resources/streams.job.yml", _REFINE, _REFINE_AFTER_INGEST),
        ("identities", "targets/prod.yml", "user_name: ${var.run_as_user}", "user_name: ann"),
        ("identities", "targets/prod.yml", "quality: *job", "quality: {}"),
        ("identities", "resources/streams.job.yml", "max_concurrent_runs: 1", _RUN_AS_DEPLOYER),
        ("root path", "bundle.yml", "/Users/${workspace.current_user.userName}/.b", "/Shared/.b"),
        ("root path", "bundle.yml", "user_name: ${var.run_as_user}", "group_name: users"),
        ("copies", "resources/dashboard.app.yml", "${bundle.name}-${var.copy}", "millrace-${bundle.target}"),
        ("copies", "resources/experiments.yml", _OWN_EXPERIMENT, "Shared/quality"),
        ("one production", "bundle.yml", "  prod:\n", "  classic:\n    mode: production\n  prod:\n"),
        (
            "one production",
            "resources/quality.job.yml",
            "libraries: ${var.compute.kind.libraries}",
            "libraries: []",
        ),
        ("operations", "targets/operations.yml", "- name: reason", "- name: why"),
        ("streams", "resources/streams.job.yml", "ON_FAILURE", "NEVER"),
        ("streams", "bundle.yml", "default: 4", "default: 1"),
        ("starts", "bundle.yml", "default: 0 15 0/6 * * ?", "default: 0 15 * * * ?"),
        ("parameters", "targets/settings.yml", "quality: *job", "quality: {}"),
        ("parameters", "targets/settings.yml", "- name: catalog\n", "- name: home\n"),
        ("operators", "targets/prod.yml", "release: *operation", "release: *job"),
        ("watched", "bundle.yml", "STREAMING_BACKLOG_SECONDS", "RUN_DURATION_SECONDS"),
        ("watched", "resources/alerts.yml", "ops.gates", "ops.ledger"),
        ("app access", "resources/dashboard.app.yml", "value_from: sql-warehouse", "value: abc"),
        ("app access", "resources/schemas.yml", "[USE_SCHEMA, SELECT]", "[USE_SCHEMA]"),
        ("app access", "resources/schemas.yml", "apps.api.service", "apps.collector.service"),
        ("app access", "resources/pages.sql_warehouse.yml", "apps.api.service", "apps.collector.service"),
        ("app access", "resources/api.app.yml", "value_from: sql-warehouse", "value: abc"),
        ("app", "resources/api.app.yml", "MILLRACE_CATALOG", "MILLRACE_CATALOGUE"),
        ("app", "api/app.yaml", "serve", "served"),
        ("readers", "resources/keys.secret_scope.yml", "${var.key_readers}", "[]"),
        ("readers", "resources/kafka.secret_scope.yml", "${var.kafka_login_readers}", "[]"),
        ("builds", "bundle.yml", "artifacts_dynamic_version: true", "artifacts_dynamic_version: false"),
        ("paid for", "resources/quality.job.yml", "      budget_policy_id: ${var.budget_policy_id}\n", ""),
        ("paid for", "targets/prod.yml", "started: true", "started: false"),
        ("upload", "bundle.yml", "    - dashboards", "    - ."),
        ("default target", "bundle.yml", "    default: true\n", ""),
        ("default target", "bundle.yml", '      home: ""\n', '      home: ""\n      catalog: main\n'),
    ],
)
def test_broken_bundle_fails_check(tmp_path: Path, name: str, file: str, right: str, wrong: str) -> None:
    root = tmp_path / "bundle"
    for folder in ("resources", "targets", "dashboards", "collector", "api"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for single in ("bundle.yml", "requirements.lock"):
        shutil.copy(ROOT / single, root)
    text = (root / file).read_text(encoding="utf-8")
    assert right in text
    (root / file).write_text(text.replace(right, wrong), encoding="utf-8")
    with pytest.raises((AssertionError, MillraceError)):
        check(name, root)


@pytest.mark.parametrize("trigger", ["continuous", "available-now"])
def test_trigger_variable_selects_continuous_or_run_once(trigger: str) -> None:
    given = {} if trigger == "continuous" else {"trigger": trigger}
    for name, job in jobs_of(ROOT, "prod", **given).items():
        (task,) = job.tasks
        assert name in OPERATIONS or task.job.parse(task.parameters).once == (trigger == "available-now")


def test_continuous_jobs_of_local_target_are_the_streaming_jobs() -> None:
    assert {name for name, job in jobs_of(ROOT, "local").items() if job.continuous} == {*JOBS, "dimensions"}


def test_parameter_of_a_job_goes_to_its_tasks_over_theirs() -> None:
    task = {"task_key": "a", "python_wheel_task": {"entry_point": "a", "named_parameters": {"x": 1, "y": 2}}}
    parameters = [{"name": "y", "default": 3}, {"name": "z", "default": 4}]
    assert read_job("a", {"tasks": [task], "parameters": parameters}).tasks[0].parameters == (
        "--x=1", "--y=3", "--z=4",
    )  # fmt: skip
    positional = {"task_key": "a", "python_wheel_task": {"entry_point": "a", "parameters": ["b"]}}
    assert read_job("a", {"tasks": [positional], "parameters": parameters}).tasks[0].parameters == ("b",)


def test_tasks_of_a_continuous_job_are_local_jobs() -> None:
    tasks = [{"task_key": key, "python_wheel_task": {"entry_point": key}} for key in ("a", "b")]
    jobs = {"both": {"continuous": {"pause_status": "PAUSED"}, "tasks": tasks}, "once": {"tasks": tasks}}
    found = read_jobs({"resources": {"jobs": jobs}})
    assert {name: [task.key for task in job.tasks] for name, job in found.items()} == {
        "a": ["a"], "b": ["b"], "once": ["a", "b"],
    }  # fmt: skip
    assert found["a"].is_paused
    assert not found["a"].is_continuous
    with pytest.raises(MillraceError, match="have one name"):
        read_jobs({"resources": {"jobs": {**jobs, "a": {"tasks": tasks}}}})


def test_refine_and_repair_are_one_workspace_task_and_two_local_tasks() -> None:
    for target in WORKSPACES:
        jobs = jobs_of(ROOT, target)
        assert [task.entry_point for task in jobs["refine"].tasks] == ["millrace-silver"]
        assert "repair" not in jobs
    entry_points = {name: job.tasks[0].entry_point for name, job in jobs_of(ROOT, "local").items()}
    assert (entry_points["refine"], entry_points["repair"]) == ("millrace-refine", "millrace-repair")


def test_target_of_the_page_on_deployment_has_the_jobs_of_local(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (variables,) = [block for block in blocks if "  nightly:" in block]
    (command,) = re.findall(r"^sed .* > targets/nightly.yml$", page, re.MULTILINE)
    for folder in ("resources", "targets"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    own = (ROOT / "bundle.yml").read_text(encoding="utf-8")
    (tmp_path / "bundle.yml").write_text(own + variables, encoding="utf-8")
    subprocess.run(command, shell=True, cwd=tmp_path, check=True)
    given = {"catalog": "", "kafka_bootstrap": ""}
    jobs = read_jobs(resolve(read_tree(tmp_path, "nightly"), given, "ann"))
    maintenance = jobs["maintenance"].schedule
    assert maintenance
    assert (maintenance.expression, maintenance.time_zone) == ("0 0 2 * * ?", "Europe/Berlin")

    def started(jobs: dict[str, BundleJob]) -> dict[str, object]:
        return {
            name: (job.jobs, job.is_paused, job.continuous, job.schedule and job.schedule.expression)
            for name, job in jobs.items()
            if name != "maintenance"
        }

    assert started(jobs) == started(jobs_of(ROOT, "local"))


def test_dev_target_pauses_all_jobs_and_alerts() -> None:
    def auto_started(target: str) -> list[str]:
        jobs = jobs_of(ROOT, target).values()
        return [job.name for job in jobs if not job.is_paused and (job.continuous or job.schedule)]

    assert {target: len(auto_started(target)) for target in TARGETS} == {"dev": 0, "prod": 7, "local": 9}
    alerts = tree_of(ROOT, "dev")["resources"]["alerts"].values()
    assert {alert["schedule"]["pause_status"] for alert in alerts} == {"PAUSED"}


def test_schemas_are_named_after_layers_in_every_target() -> None:
    for target in TARGETS:
        schemas = tree_of(ROOT, target)["resources"]["schemas"]
        assert {schema["name"] for schema in schemas.values()} == {"bronze", "silver", "gold", "ops"}
