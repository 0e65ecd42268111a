"""Resolves the bundle: includes, a target's overrides, and references."""

import getpass
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lakehouse.bundle_file import BUNDLE_FILE, choose_target, read_yaml, variables_of
from lakehouse.errors import MillraceError

Tree = dict[str, Any]

_REFERENCE = re.compile(r"\$\{([A-Za-z][\w.\-]*)\}")
_KEYS = {"tasks": "task_key", "job_clusters": "job_cluster_key"}
"""Lists whose items have a key, which overrides merge by key. Other lists are appended to."""

_DEEPEST = 10
_GIVEN = {
    "apps": ("service_principal_client_id",),
    "jobs": ("id",),
    "registered_models": ("id",),
    "sql_warehouses": ("id",),
    "volumes": ("volume_path",),
}
"""Attributes that resources have only after deployment."""


def read_tree(root: Path, target: str | None) -> Tree:
    """bundle.yml with its includes, for a target; references are not resolved.

    Raises:
        MillraceError: if a file can't be read, a pattern matches none, or the target does not exist.
    """
    tree = read_yaml(root / BUNDLE_FILE)
    chosen = choose_target(tree, target)
    for pattern in tree.get("include") or []:
        files = sorted(root.glob(pattern))
        if not files:
            raise MillraceError(f"{BUNDLE_FILE} includes {pattern}, and there is no such file", "Correct it")
        for file in files:
            tree = merge(tree, read_yaml(file))
    own: Tree = dict((tree.get("targets") or {}).get(chosen) or {})
    own.pop("variables", None)
    values = variables_of(tree, chosen)
    merged = merge({key: node for key, node in tree.items() if key != "targets"}, own)
    return {**merged, "variables": values, "bundle": {**merged.get("bundle", {}), "target": chosen or ""}}


def merge(below: Any, above: Any, name: str = "") -> Any:
    """Merge two parts of a bundle: values of the second override those of the first, or are added."""
    if isinstance(below, dict) and isinstance(above, dict):
        both = {key: merge(node, above[key], key) if key in above else node for key, node in below.items()}
        return both | {key: node for key, node in above.items() if key not in below}
    if isinstance(below, list) and isinstance(above, list):
        if key := _KEYS.get(name):
            items = {item[key]: item for item in below}
            for item in above:
                items[item[key]] = merge(items.get(item[key], {}), item)
            return list(items.values())
        return [*below, *above]
    return below if above is None else above


def resolve(tree: Tree, known: Mapping[str, object] | None = None, user: str | None = None) -> Tree:
    """Replace the references of a tree.

    Args:
        tree: result of `read_tree`.
        known: values of variables that override the bundle's.
        user: name of the deploying user; by default the user of this machine.

    Raises:
        MillraceError: for a reference that can't be resolved.
    """
    values = {**tree["variables"], **(known or {})}
    workspace = {**_workspace_of(tree, user or getpass.getuser()), **(tree.get("workspace") or {})}
    roots = {"var": values, "bundle": tree["bundle"], "workspace": workspace, **_only(tree, "resources")}

    def look_up(name: str) -> Any:
        return _find(roots, name)

    return {key: _replace(node, look_up, key) for key, node in tree.items() if key != "variables"}


def _replace(node: Any, look_up: Callable[[str], Any], where: str, depth: int = 0) -> Any:
    if depth > _DEEPEST:
        raise MillraceError(f"{where} of the bundle refers to itself", "Take the circle out")
    if isinstance(node, dict):
        return {key: _replace(each, look_up, f"{where}.{key}", depth) for key, each in node.items()}
    if isinstance(node, list):
        return [_replace(each, look_up, f"{where}[{at}]", depth) for at, each in enumerate(node)]
    if not isinstance(node, str) or not (found := _REFERENCE.search(node)):
        return node
    try:
        value = look_up(found[1])
    except KeyError:
        raise MillraceError(
            f"{where} of the bundle refers to {found[0]}, which is not there", "Declare it, or correct it"
        ) from None
    if found[0] != node:
        value = f"{node[: found.start()]}{value}{node[found.end() :]}"
    return _replace(value, look_up, where, depth + 1)


def _find(roots: Mapping[str, Any], name: str, depth: int = 0) -> Any:
    kind, *path = name.split(".")
    value = roots[kind]
    for place, key in enumerate(path):
        if isinstance(value, str) and (inner := _REFERENCE.fullmatch(value)) and depth < _DEEPEST:
            value = _find(roots, inner[1], depth + 1)
        if not isinstance(value, dict):
            raise KeyError(name)
        if kind == "resources" and place == 2 and key in _GIVEN.get(path[0], ()):
            return f"{path[0]}/{path[1]}/{key}"
        value = value[key]
    if value is None:
        raise KeyError(name)
    return value


def _only(tree: Tree, key: str) -> Tree:
    return {key: tree.get(key) or {}}


def _workspace_of(tree: Tree, user: str) -> Tree:
    """Substitute values for references to a Databricks workspace."""
    path = f"/Workspace/Users/{user}/.bundle/{tree['bundle'].get('name')}/{tree['bundle']['target']}"
    short = re.sub(r"\W", "_", user.split("@", maxsplit=1)[0])
    names = {"userName": user, "short_name": short, "domain_friendly_name": short.replace("_", "-")}
    return {"current_user": names, "host": "", "root_path": path, "file_path": f"{path}/files"}
