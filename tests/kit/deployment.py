"""Checks of a bundle on a workspace, beyond its schema. Each check gets the bundle's folder."""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

from apscheduler.triggers.cron import CronTrigger

from kit.bundle import OPERATIONS, REQUIRED, WORKSPACES, leaves, tree_of
from lakehouse.bundle_file import BUNDLE_FILE, LOCAL_TARGET, read_yaml, variables_of
from lakehouse.settings import Settings
from millrace.local.bundle.bundle_resolver import Tree, read_tree
from millrace.local.bundle.quartz import quartz_trigger

KEPT = ("schemas", "volumes", "registered_models", "secret_scopes")
"""Kinds of resources with data that a deployment can't restore."""

_MIDNIGHT = datetime(2026, 11, 2, tzinfo=timezone.utc)

_NAMES = {
    "apps": "name",
    "secret_scopes": "name",
    "sql_warehouses": "name",
    "experiments": "name",
    "alerts": "display_name",
}
"""Kinds of resources with names that are unique in a workspace, and the field of the name."""


def check_keys(root: Path) -> None:
    """Resource keys are unique across all kinds, in every target."""
    for target in (*WORKSPACES, LOCAL_TARGET):
        keys = Counter(key for found in read_tree(root, target)["resources"].values() for key in found)
        twice = [key for key, times in keys.items() if times > 1]
        assert not twice, f"{target}: two resources are called {twice}"


def check_required(root: Path) -> None:
    """Locations of data have no default on a workspace, so that a missing one is an error."""
    bundle = read_yaml(root / BUNDLE_FILE)
    expected = {"dev": set(REQUIRED), "prod": {*REQUIRED, "run_as_service_principal"}}
    for target in WORKSPACES:
        values = variables_of(bundle, target)
        missing = {name for name, value in values.items() if value is None}
        assert missing == expected[target], f"{target}: {missing} have no value"


def check_kept(root: Path) -> None:
    """In production, resources with data are protected from `destroy` and from a changed catalog."""
    resources = tree_of(root, "prod")["resources"]
    for kind in KEPT:
        for name, resource in resources[kind].items():
            assert (resource.get("lifecycle") or {}).get("prevent_destroy"), f"prod: {kind}.{name} can go"


def check_continuous(root: Path) -> None:
    """Tasks of a continuous job do not depend on each other."""
    for target, name, job in _jobs(root):
        if "continuous" in job:
            assert not any(task.get("depends_on") for task in job["tasks"]), f"{target}: {name}"


def check_streams(root: Path) -> None:
    """The streaming tasks share a cluster that grows, and one that fails restarts while the others go on."""
    for target in WORKSPACES:
        jobs = tree_of(root, target)["resources"]["jobs"]
        assert [name for name, job in jobs.items() if "continuous" in job] == ["streams"]
        streams = jobs["streams"]
        assert streams["continuous"]["task_retry_mode"] == "ON_FAILURE"
        assert [task["task_key"] for task in streams["tasks"]] == [
            "ingest",
            "refine",
            "dimensions",
            "publish",
        ]
        (cluster,) = streams["job_clusters"]
        sizes = cluster["new_cluster"]["autoscale"]
        assert 0 < int(sizes["min_workers"]) < int(sizes["max_workers"]), f"{target}: the cluster can't grow"


def check_starts(root: Path) -> None:
    """On a workspace, scheduled jobs start at most 12 clusters a day."""
    for target in WORKSPACES:
        starts = 0
        for job in tree_of(root, target)["resources"]["jobs"].values():
            if schedule := job.get("schedule"):
                trigger = quartz_trigger(schedule["quartz_cron_expression"], "UTC")
                starts += sum(1 for _ in _times(trigger, _MIDNIGHT, _MIDNIGHT + timedelta(days=1)))
        assert 0 < starts <= 12, f"{target}: {starts} clusters a day"


def _times(trigger: CronTrigger, begin: datetime, end: datetime) -> Iterator[datetime]:
    """Times at which a trigger fires."""
    at = trigger.get_next_fire_time(None, begin)
    while at is not None and at < end:
        yield at
        at = trigger.get_next_fire_time(at, at + timedelta(seconds=1))


def check_parameters(root: Path) -> None:
    """Each job has all settings as parameters, and its tasks take them as named parameters."""
    variables = read_yaml(root / BUNDLE_FILE)["variables"].keys()
    wanted = {"trigger", *(variables & Settings.model_fields.keys())}
    for target, name, job in _jobs(root):
        parameters = [each["name"] for each in job.get("parameters") or ()]
        assert len(parameters) == len(set(parameters)), f"{target}: {name} has a parameter twice"
        assert set(parameters) == wanted | OPERATIONS.get(name, set()), f"{target}: {name} has {parameters}"
        for task in job["tasks"]:
            wheel = task["python_wheel_task"]
            assert wheel["named_parameters"], f"{target}: a workspace passes no parameters to {name}"
            assert "parameters" not in wheel, f"{target}: {name}"


def check_identities(root: Path) -> None:
    """Jobs run as the principal or user of a variable, not as the deploying user."""
    for given in ({}, {"run_as_service_principal": "", "run_as_user": "ann@example.com"}):
        wanted = given.get("run_as_user") or "11111111-2222-4333-8444-555555555555"
        tree = tree_of(root, "prod", **given)
        key = "user_name" if given else "service_principal_name"
        for name, job in tree["resources"]["jobs"].items():
            who = {kind: value for kind, value in (job.get("run_as") or {}).items() if value}
            assert who == {key: wanted}, f"prod: {name} runs as {who}"
        managers = [{**entry} for entry in tree["permissions"] if entry["level"] == "CAN_MANAGE"]
        assert [entry[key] for entry in managers] == [wanted]
        granted = {grant["principal"] for grant in tree["resources"]["schemas"]["gold"]["grants"]}
        assert wanted in granted, f"prod: {wanted} may not use the gold schema"
    assert "run_as" not in tree, "an app can't have the run_as of a whole target"
    for file in sorted((*root.glob("resources/*.yml"), *root.glob("targets/*.yml"))):
        for key, value in leaves(read_yaml(file)):
            assert key != "user_name" or "current_user" not in value, f"{file.name}: {key}: {value}"


def check_root_path(root: Path) -> None:
    """Production lies in the folder of the deploying principal, where others can't write."""
    tree = tree_of(root, "prod", "robot")
    assert tree["workspace"]["root_path"].startswith("/Workspace/Users/robot/")
    assert not any("group_name" in entry for entry in tree["permissions"]), "a group gets at the secrets, too"


def check_whole_variables(root: Path) -> None:
    """A variable's default refers to other variables only as a whole.

    The Databricks CLI does not resolve paths into a variable there.
    """
    for name, variable in read_yaml(root / BUNDLE_FILE)["variables"].items():
        found = re.findall(r"\$\{var\.([^}]*)\}", str(variable.get("default", "")))
        assert not [path for path in found if "." in path], f"{name} refers to {found}"


def check_copies(root: Path) -> None:
    """Copies of two users in dev have disjoint names."""
    ann, bob = (
        _shared_names(tree_of(root, "dev", user)) for user in ("ann@example.com", "bob.o@example.com")
    )
    assert len(ann) == len(bob) > 5
    assert not ann & bob, f"two copies share {ann & bob}"
    for user in ("ann@example.com", "bob.o@example.com"):
        for app in tree_of(root, "dev", user)["resources"]["apps"].values():
            assert re.fullmatch(r"[a-z0-9-]{2,30}", app["name"]), app["name"]


def check_one_production(root: Path) -> None:
    """There is one production target and so one deployment state; the kind of compute is a variable."""
    targets = read_yaml(root / BUNDLE_FILE)["targets"]
    assert [name for name, target in targets.items() if target.get("mode") == "production"] == ["prod"]
    for kind, key in (("serverless", "environment"), ("clusters", "job_cluster")):
        tree = tree_of(root, "prod", compute={"kind": f"${{var.{kind}}}"})
        for name, job in tree["resources"]["jobs"].items():
            declared = {each[f"{key}_key"] for each in job[f"{key}s"]}
            for task in job["tasks"]:
                used = {kind: value for kind, value in task.items() if kind.endswith("_key") and value}
                assert used == {"task_key": task["task_key"], f"{key}_key": "default"}, f"{kind}: {name}"
                assert task[f"{key}_key"] in declared
                assert bool(task["libraries"]) == (key == "job_cluster"), f"{kind}: {name}"


def check_operations(root: Path) -> None:
    """Operations on gates and tables are jobs that are started manually with parameters."""
    for target in WORKSPACES:
        jobs = tree_of(root, target)["resources"]["jobs"]
        for name, wanted in OPERATIONS.items():
            assert name in jobs, f"{target}: there is no job {name}"
            job = jobs[name]
            given = {each["name"] for each in job.get("parameters") or ()} - Settings.model_fields.keys()
            assert given == wanted | {"trigger"}, f"{target}: {name} takes {given}"
            assert not {"continuous", "schedule"} & job.keys(), f"{target}: {name} starts by itself"


def check_operators(root: Path) -> None:
    """In production, only the named groups may open a closed gate. Others may view."""
    team = [{"level": "CAN_MANAGE_RUN", "group_name": "data-team"}]
    for given, wanted in (({}, {"CAN_VIEW"}), ({"operation_permissions": team}, {"CAN_MANAGE_RUN"})):
        jobs = tree_of(root, "prod", **given)["resources"]["jobs"]
        for name in OPERATIONS:
            levels = {entry["level"] for entry in jobs[name]["permissions"]}
            assert levels == wanted, f"prod: {name} gives {levels}"
        assert not any(each["level"] != "CAN_VIEW" for each in jobs["streams"]["permissions"])


def check_watched(root: Path) -> None:
    """There are alerts for jobs that fail, hang or lag, and for stale or held gold."""
    for target, name, job in _jobs(root):
        assert "timeout_seconds" in job, f"{target}: {name} may run for ever"
        assert job["email_notifications"].keys() >= {"on_failure"}, f"{target}: {name} fails in silence"
        if name not in OPERATIONS:
            assert job["health"]["rules"], f"{target}: nobody notices that {name} hangs"
    rules = tree_of(root, "prod")["resources"]["jobs"]["streams"]["health"]["rules"]
    assert {rule["metric"] for rule in rules} == {"STREAMING_BACKLOG_SECONDS"}
    texts = [alert["query_text"] for alert in tree_of(root, "prod")["resources"]["alerts"].values()]
    assert {table for text in texts for table in re.findall(r"ops\.\w+", text)} == {"ops.ledger", "ops.gates"}
    assert any("bronze.kafka_records" in text and "'publish'" in text for text in texts), "no stage is timed"


def check_app_access(root: Path) -> None:
    """Pages and streaming API get their SQL warehouse by reference, and may read every layer, and no more."""
    for target in WORKSPACES:
        resources = tree_of(root, target)["resources"]
        may_use = {
            each["service_principal_name"] for each in resources["sql_warehouses"]["pages"]["permissions"]
        }
        for key in ("dashboard", "api"):
            app, principal = resources["apps"][key], f"apps/{key}/service_principal_client_id"
            (warehouse,) = app["resources"]
            assert warehouse["sql_warehouse"] == {"id": "sql_warehouses/pages/id", "permission": "CAN_USE"}
            env = {each["name"]: each.get("value_from") for each in app["config"]["env"]}
            assert env["DATABRICKS_WAREHOUSE_ID"] == warehouse["name"], f"{target}: {key} has no warehouse"
            assert principal in may_use, f"{target}: {key} may not use the warehouse"
            for name, schema in resources["schemas"].items():
                grants = {grant["principal"]: grant["privileges"] for grant in schema["grants"]}
                records = ["MODIFY"] * (key == "api" and name == "ops")
                assert grants.get(principal) == ["USE_SCHEMA", "SELECT", *records], (
                    f"{target}: {key} in {name}"
                )


def check_readers(root: Path) -> None:
    """Readers of Kafka's login and of the masks' key are named in variables: a deployment removes others.

    The Databricks CLI does not resolve references to resources in permissions of a secret scope.
    """
    readers = [{"level": "READ", "service_principal_name": "an app"}]
    for target in WORKSPACES:
        for given in ([], readers):
            tree = tree_of(root, target, kafka_login_readers=given, key_readers=given)
            for name, scope in tree["resources"]["secret_scopes"].items():
                assert scope["permissions"] == given, f"{target}: {name}"


def check_builds(root: Path) -> None:
    """A changed source gives a wheel of another name, so that a new version reaches every job."""
    for target in WORKSPACES:
        presets = tree_of(root, target)["presets"]
        assert presets.get("artifacts_dynamic_version"), f"{target}: jobs may keep an old wheel"


def check_paid_for(root: Path) -> None:
    """Jobs and the app use the given budget policy. The app of production is started."""
    for target in WORKSPACES:
        resources = tree_of(root, target, budget_policy_id="policy")["resources"]
        for name, resource in {**resources["jobs"], **resources["apps"]}.items():
            assert resource.get("budget_policy_id") == "policy", f"{target}: {name} has no budget"
    app = tree_of(root, "prod")["resources"]["apps"]["dashboard"]
    assert (app.get("lifecycle") or {}).get("started"), "prod: the app has to be started by hand"


def check_upload(root: Path) -> None:
    """Only files needed on the workspace are uploaded. The CLI version is pinned."""
    tree = tree_of(root, "prod")
    assert tree["sync"] == {
        "paths": ["dashboards", "collector", "api"],
        "include": [f"{app}/*.[tw][xh][tl]" for app in ("dashboards", "collector", "api")],
    }
    assert tree["bundle"]["databricks_cli_version"]
    assert all(tree_of(root, target)["presets"]["tags"] for target in WORKSPACES)


def check_default_target(root: Path) -> None:
    """The CLI's default target is a workspace. The target `local` can't be deployed."""
    bundle = read_yaml(root / BUNDLE_FILE)
    marked = [name for name, target in bundle["targets"].items() if target.get("default")]
    assert marked == ["dev"]
    assert variables_of(bundle, LOCAL_TARGET)["catalog"] is None


def _jobs(root: Path) -> Iterator[tuple[str, str, Tree]]:
    for target in WORKSPACES:
        for name, job in tree_of(root, target)["resources"]["jobs"].items():
            yield target, name, job


def _shared_names(tree: Tree) -> set[str]:
    resources = tree["resources"]
    return {str(each[key]) for kind, key in _NAMES.items() for each in resources[kind].values()}


CHECKS = {
    "keys": check_keys,
    "required": check_required,
    "kept": check_kept,
    "continuous": check_continuous,
    "streams": check_streams,
    "starts": check_starts,
    "parameters": check_parameters,
    "identities": check_identities,
    "root path": check_root_path,
    "whole variables": check_whole_variables,
    "copies": check_copies,
    "one production": check_one_production,
    "operations": check_operations,
    "operators": check_operators,
    "watched": check_watched,
    "app access": check_app_access,
    "builds": check_builds,
    "readers": check_readers,
    "paid for": check_paid_for,
    "upload": check_upload,
    "default target": check_default_target,
}
