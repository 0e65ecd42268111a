"""Compares gold.traffic at every version with gold.traffic_changes folded up to it."""

import json
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from kit.pipeline import plain, read_rows
from lakehouse.contracts.traffic import TRAFFIC, TRAFFIC_CHANGES
from lakehouse.settings import Settings

State = dict[tuple[Any, ...], dict[str, Any]]


def assert_changes_fold(settings: Settings) -> int:
    """Apply the changes one by one, and compare each version of gold.traffic with the result so far.

    Returns:
        Number of versions compared.
    """
    changes = read_rows(settings, TRAFFIC_CHANGES.name, TRAFFIC_CHANGES.column_names)
    state: State = {}
    versions = _versions(settings)
    for version, sequence in versions:
        now = [row for row in changes if row["sequence"] == sequence]
        _apply(state, now)
        stands = {_key(row): row for row in _traffic(settings, version)}
        assert stands == state, f"version {version}, sequence {sequence}"
    assert {row["sequence"] for row in changes} == {sequence for _, sequence in versions}
    return len(versions)


def _apply(state: State, changes: list[dict[str, Any]]) -> None:
    """Apply changes. A retraction must match the current row exactly."""
    for change in (row for row in changes if row["change"] == "retract"):
        assert state.pop(_key(change)) == _row(change)
    for change in (row for row in changes if row["change"] == "replace"):
        assert _key(change) not in state
        state[_key(change)] = _row(change)


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in TRAFFIC.key)


def _row(change: dict[str, Any]) -> dict[str, Any]:
    return {name: change[name] for name in TRAFFIC.column_names}


def _versions(settings: Settings) -> list[tuple[int, int]]:
    """The versions of gold.traffic that changed rows, with the sequence of their changes."""
    found = []
    for commit in DeltaTable(_folder(settings)).history():
        reported = json.loads(commit.get("userMetadata") or "{}")
        if "sequence" in reported:
            found.append((commit["version"], reported["sequence"]))
    return sorted(found)


def _traffic(settings: Settings, version: int) -> list[dict[str, Any]]:
    rows = DeltaTable(_folder(settings), version=version).to_pyarrow_table()
    return [plain(row) for row in rows.select(list(TRAFFIC.column_names)).to_pylist()]


def _folder(settings: Settings) -> Path:
    return Path(settings.warehouse, *TRAFFIC.name.split("."))
