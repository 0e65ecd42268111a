"""The bundle passes every check, and each check fails on a broken copy of the bundle."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kit import bundle, deployment
from kit.bundle import OPERATIONS, TARGETS, WORKSPACES, jobs_of, tree_of
from kit.home import JOBS, ROOT
from lakehouse.errors import MillraceError
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


_TWO_TASKS = "      tasks:\n        - task_key: other\n          depends_on: [{task_key: refine}]\n"
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
        ("entry points", "resources/publish.job.yml", "millrace-publish", "millrace-published"),
        ("entry points", "bundle.yml", "      trigger: ${var.t", "      triger: ${var.t"),
        ("entry points", "bundle.yml", "default: continuous", "default: now and then"),
        ("references", "resources/layers.schema.yml", "${var.catalog}", "${var.catalogue}"),
        ("references", "bundle.yml", "registered_models.channel-credit.id", "registered_models.model.id"),
        (
            "references",
            "bundle.yml",
            "exchange_rates_topic: ${var.exchange_rates_topic}",
            "exchange_rates_topic: rates",
        ),
        ("paths", "resources/dashboard.app.yml", "../dashboards", "../dashboard"),
        ("paths", "bundle.yml", "- ./dist/*.whl", "- ../dist/*.whl"),
        ("schedules", "resources/maintenance.job.yml", "0 10,40 * * * ?", "0 10,40 * * *"),
        ("schedules", "bundle.yml", "default: UTC", "default: Middle/Earth"),
        ("one production", "bundle.yml", "environment_key: default\n      environments", "environments"),
        ("app", "dashboards/requirements.txt", "streamlit==", "streamlit==0."),
        ("app", "dashboards/app.yaml", "app.py", "nowhere.py"),
        ("app", "resources/dashboard.app.yml", "app.py", "page.py"),
        ("app", "resources/dashboard.app.yml", "MILLRACE_CATALOG", "MILLRACE_CATALOGUE"),
        ("schema", "resources/state.volume.yml", "volume_type", "volume_kind"),
        ("schema", "bundle.yml", "mode: production", "modus: production"),
        ("whole variables", "bundle.yml", "trigger: ${var.t", "trigger: ${var.compute.kind.t"),
        ("keys", "resources/gold.alert.yml", "gold-held:", "gate:"),
        ("required", "bundle.yml", "kafka_bootstrap:\n", "kafka_bootstrap:\n    default: host:9092\n"),
        ("required", "bundle.yml", "each copy needs one of its own\n", "x\n    default: main\n"),
        ("kept", "targets/prod.yml", "prevent_destroy: true", "prevent_destroy: false"),
        ("kept", "targets/prod.yml", "state:\n          lifecycle: *kept", "state:"),
        ("continuous", "resources/refine.job.yml", "      tasks:\n", _TWO_TASKS),
        ("identities", "targets/prod.yml", "user_name: ${var.run_as_user}", "user_name: ann"),
        ("identities", "targets/prod.yml", "refine: *job", "refine: {}"),
        ("identities", "resources/ingest.job.yml", "max_concurrent_runs: 1", _RUN_AS_DEPLOYER),
        ("root path", "bundle.yml", "/Users/${workspace.current_user.userName}/.b", "/Shared/.b"),
        ("root path", "bundle.yml", "user_name: ${var.run_as_user}", "group_name: users"),
        ("copies", "resources/dashboard.app.yml", "${bundle.name}-${var.copy}", "millrace-${bundle.target}"),
        ("copies", "resources/mlflow.experiment.yml", _OWN_EXPERIMENT, "Shared/quality"),
        ("one production", "bundle.yml", "  prod:\n", "  classic:\n    mode: production\n  prod:\n"),
        (
            "one production",
            "resources/quality.job.yml",
            "libraries: ${var.compute.kind.libraries}",
            "libraries: []",
        ),
        ("operations", "targets/operations.yml", "- name: reason", "- name: why"),
        ("operators", "targets/prod.yml", "release: *operation", "release: *job"),
        ("clusters", "bundle.yml", 'allowDuplicateKeys: "true"', 'allowDuplicateKeys: "false"'),
        ("watched", "resources/ingest.job.yml", "STREAMING_BACKLOG_SECONDS", "RUN_DURATION_SECONDS"),
        ("watched", "resources/gold.alert.yml", "ops.gates", "ops.ledger"),
        ("app access", "resources/dashboard.app.yml", "value_from: sql-warehouse", "value: abc"),
        ("app access", "resources/layers.schema.yml", "[USE_SCHEMA, SELECT]", "[USE_SCHEMA]"),
        ("paid for", "resources/quality.job.yml", "      budget_policy_id: ${var.budget_policy_id}\n", ""),
        ("paid for", "targets/prod.yml", "started: true", "started: false"),
        ("upload", "bundle.yml", "    - dashboards", "    - ."),
        ("default target", "bundle.yml", "    default: true\n", ""),
        ("default target", "bundle.yml", '      home: ""\n', '      home: ""\n      catalog: main\n'),
    ],
)
def test_broken_bundle_fails_check(tmp_path: Path, name: str, file: str, right: str, wrong: str) -> None:
    root = tmp_path / "bundle"
    for folder in ("resources", "targets", "dashboards", "collector"):
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
    assert {name for name, job in jobs_of(ROOT, "local").items() if job.continuous} == set(JOBS)


def test_refine_and_repair_are_one_workspace_task_and_two_local_jobs() -> None:
    for target in WORKSPACES:
        jobs = jobs_of(ROOT, target)
        assert [task.entry_point for task in jobs["refine"].tasks] == ["millrace-silver"]
        assert "repair" not in jobs
    entry_points = {name: job.tasks[0].entry_point for name, job in jobs_of(ROOT, "local").items()}
    assert (entry_points["refine"], entry_points["repair"]) == ("millrace-refine", "millrace-repair")


def test_dev_target_pauses_all_jobs_and_alerts() -> None:
    def auto_started(target: str) -> list[str]:
        jobs = jobs_of(ROOT, target).values()
        return [job.name for job in jobs if not job.is_paused and (job.continuous or job.schedule)]

    assert {target: len(auto_started(target)) for target in TARGETS} == {"dev": 0, "prod": 6, "local": 7}
    alerts = tree_of(ROOT, "dev")["resources"]["alerts"].values()
    assert {alert["schedule"]["pause_status"] for alert in alerts} == {"PAUSED"}


def test_schemas_are_named_after_layers_in_every_target() -> None:
    for target in TARGETS:
        schemas = tree_of(ROOT, target)["resources"]["schemas"]
        assert {schema["name"] for schema in schemas.values()} == {"bronze", "silver", "gold", "ops"}
