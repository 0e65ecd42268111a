"""The change feed of a table in a folder: what each commit changed, from Delta's log alone.

Decision and figures: docs/decisions/0037.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.table import Table
from lakehouse.delta.data_files import file_of, live_files, read_files, read_parts
from lakehouse.delta.log_files import commit_file, latest_version
from lakehouse.delta.row_pairs import change_schema, changes_between, commit_columns
from lakehouse.errors import MillraceError

_ROWS = 2_048
"""Rows of a part of a snapshot: few, since they may be wide."""


def iterate_snapshot(folder: Path, table: Table, version: int | None = None) -> Iterator[pa.Table]:
    """The rows of a version, to which the changes after it apply, in parts: first an empty one.

    Args:
        folder: of the table.
        table: its contract, with the columns that are wanted.
        version: the version; None: the latest.

    Raises:
        MillraceError: if the version can't be read any more, or there is no table.
    """
    try:
        there = DeltaTable(folder, version=version)
        yield arrow_schema(table).empty_table()
        yield from read_parts(folder, table, live_files(there), there.version(), _ROWS)
    except (DeltaError, FileNotFoundError) as error:
        raise _gone(folder, table, f"version {'' if version is None else version}".strip()) from error


def read_changes(folder: Path, table: Table, after_version: int, upto_version: int) -> pa.Table:
    """The changes of the commits after a version, up to another one; see `iterate_changes`."""
    found = iterate_changes(folder, table, after_version, upto_version)
    return pa.concat_tables([change_schema(table).empty_table(), *found])


def iterate_changes(folder: Path, table: Table, after_version: int, upto_version: int) -> Iterator[pa.Table]:
    """The changes of each commit, as rows of `change_schema`, one table a commit, in order.

    `change` is `insert`, `update` or `delete`; `before` is null for an insert, `after` for a delete. `job`
    and `upto` are the commit's metadata, null if it has none. A row that is rewritten unchanged is no change.
    Rows of a table without a key are inserted and deleted, each as often as the commit adds or removes it.
    Removing the rows `before` from those of `after_version`, and adding the rows `after`, gives the rows of
    `upto_version`.

    Args:
        folder: of the table.
        table: its contract.
        after_version: the last version whose changes are known; -1 for none.
        upto_version: the last version to read.

    Raises:
        MillraceError: if the log no longer has a commit, or VACUUM has removed a file of it.
    """
    for version in range(after_version + 1, upto_version + 1):
        yield _changes_of(folder, table, version)


def _changes_of(folder: Path, table: Table, version: int) -> pa.Table:
    try:
        return _read_commit(folder, table, version)
    except (DeltaError, FileNotFoundError) as error:
        raise _gone(folder, table, f"the changes of version {version}") from error


def _read_commit(folder: Path, table: Table, version: int) -> pa.Table:
    lines = commit_file(folder, version).read_text(encoding="utf-8").splitlines()
    actions = [json.loads(line) for line in lines if line]
    files = [(kind, each[kind]) for each in actions for kind in ("remove", "add") if kind in each]
    if not any(file.get("dataChange", True) for _, file in files):
        return change_schema(table).empty_table()
    removed, added = (
        [file_of(file) for kind, file in files if kind == wanted] for wanted in ("remove", "add")
    )
    before = read_files(folder, table, removed, version - 1)
    after = read_files(folder, table, added, version)
    return changes_between(table, before, after, _commit_columns(actions, version))


def _commit_columns(actions: list[dict[str, Any]], version: int) -> dict[str, pa.Scalar]:
    info: Mapping[str, Any] = next((each["commitInfo"] for each in actions if "commitInfo" in each), {})
    millis = info.get("inCommitTimestamp", info.get("timestamp"))
    return commit_columns(version, None if millis is None else 1_000 * millis, info.get("userMetadata"))


def _gone(folder: Path, table: Table, what: str) -> MillraceError:
    latest = latest_version(folder)
    if latest < 0:
        return MillraceError(f"there is no table {table.name} yet", "`millrace run` writes it")
    return MillraceError(
        f"{what} of {table.name} can't be read: VACUUM or log retention has removed files of it",
        f"Begin with a snapshot, which is of version {latest}, and go on with the changes after it",
    )
