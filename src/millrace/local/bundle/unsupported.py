"""Parts of a bundle that a local workspace does not support."""

from collections.abc import Iterator

from millrace.local.bundle.bundle_resolver import Tree

_KINDS = {"apps", "experiments", "jobs", "registered_models", "schemas", "volumes"}
_KINDS_OF_A_WORKSPACE = {"alerts", "secret_scopes", "sql_warehouses"}
"""Locally replaced by `status`, the variables MILLRACE_KAFKA_… and the files of the tables."""
_JOB = {"continuous", "max_concurrent_runs", "parameters", "schedule", "tasks"}
_TASK = {"depends_on", "python_wheel_task", "task_key"}
_OF_A_WORKSPACE = {
    "budget_policy_id", "description", "disable_auto_optimization", "email_notifications", "environment_key",
    "environments", "health", "job_cluster_key", "job_clusters", "libraries", "name", "permissions", "run_as",
    "tags", "timeout_seconds",
}  # fmt: skip
"""Settings of a job's compute, user or name, which do not apply to one local Spark application."""

_ONE = (None, 1)


def unsupported(tree: Tree) -> Iterator[str]:
    """One line for each ignored resource, and each ignored part of a job.

    Args:
        tree: the bundle for a target.
    """
    resources: Tree = tree.get("resources") or {}
    for kind, found in resources.items():
        if kind not in _KINDS | _KINDS_OF_A_WORKSPACE:
            yield f"{kind}: {', '.join(found)}"
    for name, job in (resources.get("jobs") or {}).items():
        for key in job.keys() - _JOB - _OF_A_WORKSPACE:
            yield f"job {name}: {key}"
        if job.get("max_concurrent_runs") not in _ONE:
            yield f"job {name}: max_concurrent_runs above 1"
        for task in job.get("tasks") or []:
            for key in task.keys() - _TASK - _OF_A_WORKSPACE:
                yield f"job {name}: {key} of task {task['task_key']}"
