"""A table cursor survives replaced rows, and detects a recreated table."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from kit.cursors import changes_of, table_cursor
from kit.warehouse_builder import append_rows, replace_rows
from lakehouse.delta.table_identity import table_id
from lakehouse.errors import MillraceError
from lakehouse.readers import folder_tables

NAME = "gold.funnel"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table with two versions."""
    append_versions(tmp_path, 1, 2)
    return tmp_path / "warehouse" / "gold" / "funnel"


def append_versions(home: Path, *visitors: int) -> None:
    for each in visitors:
        append_rows(home, NAME, [{"step": f"step {each}", "visitors": each}])


def test_replaced_rows_and_compaction_keep_the_table_id(folder: Path, tmp_path: Path) -> None:
    cursor, known = table_cursor(tmp_path, NAME), table_id(folder)[:8]
    assert len(changes_of(cursor)) == 2
    replace_rows(tmp_path, NAME, [{"step": "step 2", "visitors": 2}])
    DeltaTable(folder).optimize.compact()
    DeltaTable(folder).create_checkpoint()
    assert [change["change"] for change in changes_of(cursor)] == ["delete"]
    assert cursor.table_ids == {NAME: known} == {NAME: table_id(folder)[:8]}


@pytest.mark.parametrize("versions", [1, 2, 3, 5])
def test_recreated_table_is_detected_at_any_version_count(
    folder: Path, tmp_path: Path, versions: int
) -> None:
    cursor = table_cursor(tmp_path, NAME)
    changes_of(cursor)
    shutil.rmtree(folder)
    append_versions(tmp_path, *range(versions))
    if versions == 2:  # same version as before: nothing to read yet
        assert changes_of(cursor) == []
        append_versions(tmp_path, 9)
    with pytest.raises(MillraceError, match=r"made again.*Begin with a snapshot"):
        changes_of(cursor)
    with pytest.raises(MillraceError, match="made again"):
        table_cursor(tmp_path, NAME, 0, table_id="another")


def test_table_recreated_while_changes_are_read_is_detected(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = folder_tables.read_changes

    def replaced(*arguments: Any) -> Any:
        shutil.rmtree(folder)
        append_versions(tmp_path, *range(4))
        return original(*arguments)

    monkeypatch.setattr(folder_tables, "read_changes", replaced)
    cursor = table_cursor(tmp_path, NAME, 0)
    with pytest.raises(MillraceError, match="made again"):
        changes_of(cursor)
    assert cursor.position == {NAME: 0}


@pytest.mark.parametrize("length", [0, 8, 36])
def test_cursor_accepts_empty_partial_or_full_table_id(folder: Path, tmp_path: Path, length: int) -> None:
    known = table_id(folder)[:length]
    cursor = table_cursor(tmp_path, NAME, 0, known)
    assert len(changes_of(cursor)) == 1
    assert cursor.table_ids == {NAME: known or table_id(folder)[:8]}


def test_table_recreated_while_snapshot_is_read_is_detected(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = folder_tables.iterate_snapshot

    def replaced(*arguments: Any) -> Any:
        shutil.rmtree(folder)
        append_versions(tmp_path, *range(4))
        return original(*arguments)

    cursor = table_cursor(tmp_path, NAME)
    monkeypatch.setattr(folder_tables, "iterate_snapshot", replaced)
    with pytest.raises(MillraceError, match="made again"):
        changes_of(cursor)
    assert cursor.position == {}


def test_missing_table_has_empty_id(tmp_path: Path) -> None:
    assert table_id(tmp_path / "none") == ""
