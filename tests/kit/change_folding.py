"""Folds a change feed, and compares the result with the table at each version."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from lakehouse.contracts.table import Table
from lakehouse.delta.changes import iterate_snapshot, read_changes
from lakehouse.delta.log_files import latest_version

Reader = Callable[[Path, Table, int], pa.Table]


def rows_at(folder: Path, table: Table, version: int | None = None) -> pa.Table:
    """Rows of a version, read with deltalake."""
    return DeltaTable(folder, version=version).to_pyarrow_table()


def snapshot_of(folder: Path, table: Table, version: int | None = None) -> pa.Table:
    """Rows of a version, as the change feed begins with them."""
    return pa.concat_tables(iterate_snapshot(folder, table, version))


def text_of(row: Mapping[str, Any]) -> str:
    """A row as text that is equal for equal rows."""
    return json.dumps({name: row[name] for name in sorted(row)}, default=str)


def assert_feed_folds(
    folder: Path, table: Table, begins: Iterable[int] | None = None, read: Reader = rows_at
) -> pa.Table:
    """Apply the change feed to the snapshots of some versions, and compare with the table at each later one.

    Args:
        folder: the table's folder.
        table: its contract.
        begins: versions to start from; all by default.
        read: an independent reader of a version.

    Returns:
        The changes after the first version.
    """
    latest = latest_version(folder)
    names = list(table.column_names)
    begins = list(range(latest + 1)) if begins is None else list(begins)
    first = min(begins)
    published = {
        version: _bag(_columns(read(folder, table, version), names)) for version in range(first, latest + 1)
    }
    for begin in begins:
        state = _bag(snapshot_of(folder, table, begin))
        assert state == published[begin], f"snapshot of version {begin}"
        found = read_changes(folder, table, begin, latest).to_pylist()
        for version in range(begin + 1, latest + 1):
            for change in (each for each in found if each["commit_version"] == version):
                apply_change(state, change)
            assert state == published[version], f"version {version} from {begin}"
    return read_changes(folder, table, first, latest)


def _columns(rows: pa.Table, names: list[str]) -> pa.Table:
    """The columns of a contract. Columns that the table does not have yet are null."""
    missing = [name for name in names if name not in rows.column_names]
    for name in missing:
        rows = rows.append_column(name, pa.nulls(rows.num_rows))
    return rows.select(names)


def _bag(rows: pa.Table) -> Counter[str]:
    return Counter(text_of(row) for row in rows.to_pylist())


def apply_change(state: Counter[str], change: Mapping[str, Any]) -> None:
    """Remove the old row, which must exist, and add the new one."""
    before, after = change["before"], change["after"]
    kind = {(True, True): "update", (False, True): "insert", (True, False): "delete"}
    assert change["change"] == kind[before is not None, after is not None]
    assert before != after
    if before is not None:
        text = text_of(before)
        assert state[text] > 0, f"not there: {text}"
        state[text] -= 1
        state += Counter()
    if after is not None:
        state[text_of(after)] += 1
