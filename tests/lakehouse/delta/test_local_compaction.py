"""Compaction without Spark: the same rows in fewer files, whatever is committed concurrently."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from hypothesis import given, settings

from kit.flat_table import FLAT, NAMES, Row, batches, rows_of
from lakehouse.contracts.table import DELETED, Table
from lakehouse.delta import compaction_plan, copy_on_write, local_compaction
from lakehouse.delta.changes import read_changes
from lakehouse.delta.local_tables import LocalTables
from lakehouse.delta.log_files import VersionTakenError, commit_file
from lakehouse.delta.lookup import Lookup
from lakehouse.delta.merge import Scope
from lakehouse.delta.table_properties import properties_of

APPENDED = replace(FLAT, name="silver.appended", is_mutable=False, stats_columns=("kind", "at"))
MAX_ROWS = 4


@pytest.fixture(autouse=True)
def small_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction_plan, "MIN_FILES", 1)
    monkeypatch.setattr(compaction_plan, "MAX_ROWS_PER_MUTABLE_FILE", MAX_ROWS)
    monkeypatch.setattr(copy_on_write, "MAX_ROWS_PER_SMALL_FILE", 2)


def contents(tables: LocalTables, table: Table) -> list[str]:
    return sorted(map(str, tables.find(table, Lookup(NAMES)).to_pylist()))


def on_disk(tables: LocalTables, table: Table) -> list[str]:
    """The rows that a new reader finds, without the caches of this process."""
    return contents(LocalTables(tables._warehouse), table)


def append(tables: LocalTables, batch: dict[Row, Row]) -> None:
    tables.append(APPENDED, rows_of(batch).drop_columns(DELETED), {"job": "test"})


@settings(max_examples=20, deadline=None)
@given(batches)
def test_compaction_between_merges_and_appends_keeps_rows(
    tmp_path_factory: pytest.TempPathFactory, changes: list[dict[Row, Row]]
) -> None:
    tables = LocalTables(tmp_path_factory.mktemp("w"))
    for table in (FLAT, APPENDED):
        tables.ensure(table, {"delta.checkpointInterval": "3"})
    for batch in changes:
        tables.merge(FLAT, rows_of(batch), Scope(), {})
        append(tables, batch)
        for table in (FLAT, APPENDED):
            before = contents(tables, table)
            tables.compact(table)
            assert contents(tables, table) == on_disk(tables, table) == before


def write_single_row_files(tmp_path: Path, rows: int = 10) -> LocalTables:
    """Append rows, each in a separate commit and file."""
    tables = LocalTables(tmp_path)
    tables.ensure(APPENDED, properties_of(APPENDED))
    for number in range(rows):
        append(tables, {("a", number): (number, 0, False, False)})
    return tables


def test_compaction_commits_one_file_without_data_change(tmp_path: Path) -> None:
    tables = write_single_row_files(tmp_path)
    before = contents(tables, APPENDED)
    assert tables.compact(APPENDED) == (10, 1)
    assert contents(tables, APPENDED) == on_disk(tables, APPENDED) == before
    folder = tables._folder(APPENDED)
    (last, *_) = DeltaTable(folder).history(1)
    assert last["operation"] == "OPTIMIZE"
    assert "userMetadata" not in last
    assert '"dataChange": true' not in commit_file(folder, last["version"]).read_text()
    assert tables.compact(APPENDED) == (1, 1)
    assert DeltaTable(folder).version() == last["version"], "nothing to do: no commit"


def test_compacted_file_has_statistics_of_contract_columns(tmp_path: Path) -> None:
    tables = write_single_row_files(tmp_path)
    tables.compact(APPENDED)
    names = pa.table(DeltaTable(tables._folder(APPENDED)).get_add_actions(flatten=True)).column_names
    assert {name.removeprefix("null_count.") for name in names if name.startswith("null_count.")} == {
        *APPENDED.stats_columns
    }


def run_before_commit(monkeypatch: pytest.MonkeyPatch, action: Any) -> None:
    """Run an action once while compaction writes its files, before its commit."""
    written = local_compaction.write_file

    def write(*arguments: Any, **named: Any) -> Any:
        monkeypatch.setattr(local_compaction, "write_file", written)
        action()
        return written(*arguments, **named)

    monkeypatch.setattr(local_compaction, "write_file", write)


def test_concurrently_appended_rows_survive_compaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables, other = write_single_row_files(tmp_path), LocalTables(tmp_path)
    run_before_commit(monkeypatch, lambda: append(other, {("b", 1): (1, 1, False, False)}))
    before = contents(tables, APPENDED)
    assert tables.compact(APPENDED) == (10, 2)
    assert len(contents(tables, APPENDED)) == 11
    assert set(before) < set(on_disk(tables, APPENDED))


def test_compaction_fails_if_its_files_are_replaced_concurrently(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables, other = write_single_row_files(tmp_path), LocalTables(tmp_path)
    run_before_commit(monkeypatch, lambda: other.compact(APPENDED))
    before = contents(tables, APPENDED)
    with pytest.raises(VersionTakenError):
        tables.compact(APPENDED)
    assert on_disk(tables, APPENDED) == before
    assert tables.compact(APPENDED) == (1, 1)


def test_compaction_commit_is_retried_if_its_version_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit is retried as the next version."""
    tables, commit = write_single_row_files(tmp_path), local_compaction.commit
    other = LocalTables(tmp_path)

    def commit_second(*arguments: Any) -> None:
        monkeypatch.setattr(local_compaction, "commit", commit)
        append(other, {("b", 1): (1, 1, False, False)})
        commit(*arguments)

    monkeypatch.setattr(local_compaction, "commit", commit_second)
    assert tables.compact(APPENDED) == (10, 2)
    assert len(on_disk(tables, APPENDED)) == 11


def test_compaction_adds_no_changes_to_the_feed(tmp_path: Path) -> None:
    tables = write_single_row_files(tmp_path)
    tables.compact(APPENDED)
    version = DeltaTable(tables._folder(APPENDED)).version()
    assert read_changes(tables._folder(APPENDED), APPENDED, version - 1, version).num_rows == 0
