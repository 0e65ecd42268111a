"""Changes of a table with their causes, in Python's types."""

from pathlib import Path
from typing import Any

from lakehouse.contracts import TABLES
from lakehouse.delta.changes import iterate_changes
from lakehouse.delta.log_files import latest_version
from serving.causes.causes import Causes


def changes_with_causes(warehouse: Path, name: str, causes: Causes) -> list[dict[str, Any]]:
    """All changes after version 0. Asserts that the input of each commit is known."""
    folder, found = warehouse.joinpath(*name.split(".")), []
    commits = iterate_changes(folder, TABLES[name], 0, latest_version(folder))
    for version, commit in enumerate(commits, 1):
        assert causes.is_known(name, version)
        changes = commit.to_pylist()
        of_each = causes.find(name, version, changes)
        found += [{**change, "caused_by": cause} for change, cause in zip(changes, of_each, strict=True)]
    return found
