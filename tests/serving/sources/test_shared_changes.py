"""Changes of a commit are read once for all readers, and separately for a recreated table."""

import gc
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from kit.live_table import LiveTable
from lakehouse.contracts.gold import TOUCHES
from lakehouse.delta.changes import read_changes
from lakehouse.errors import MillraceError
from lakehouse.readers import folder_tables
from lakehouse.readers.folder_tables import FolderTables
from serving.sources.shared_changes import SharedChanges


@pytest.fixture
def versions_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Versions that were read from the table."""
    found: list[int] = []

    def counted(folder: Path, table: Any, after: int, upto: int) -> Any:
        found.append(upto)
        return read_changes(folder, table, after, upto)

    monkeypatch.setattr(folder_tables, "read_changes", counted)
    return found


def test_concurrent_readers_read_each_commit_once(tmp_path: Path, versions_read: list[int]) -> None:
    table, shared, barrier = LiveTable(tmp_path, rows=50), SharedChanges(1 << 20), Barrier(10)
    for _ in range(3):
        table.commit()

    def ask(_: int) -> list[Any]:
        barrier.wait()
        return read_all(shared, table, 1, table.version)

    with ThreadPoolExecutor(10) as threads:
        answers = list(threads.map(ask, range(10)))
    expected = read_changes(table.folder, TOUCHES, 1, table.version).to_pylist()
    assert all(answer == expected for answer in answers)
    assert sorted(versions_read) == [2, 3, 4]


def test_oldest_cached_changes_are_evicted_first(tmp_path: Path, versions_read: list[int]) -> None:
    table = LiveTable(tmp_path, rows=50)
    for _ in range(3):
        table.commit()
    one = read_changes(table.folder, TOUCHES, 3, 4).nbytes
    shared = SharedChanges(int(one * 2.5))
    read_all(shared, table, 1, 4)
    read_all(shared, table, 3, 4)
    assert versions_read == [2, 3, 4]
    read_all(shared, table, 1, 2)
    assert versions_read == [2, 3, 4, 2]


def test_changes_of_recreated_table_are_read_again(tmp_path: Path) -> None:
    shared = SharedChanges(1 << 20)
    before = read_all(shared, LiveTable(tmp_path, rows=5), 0, 1)
    shutil.rmtree(tmp_path / "warehouse")
    again = LiveTable(tmp_path, rows=5, seed=9)
    assert read_all(shared, again, 0, 1) == read_changes(again.folder, TOUCHES, 0, 1).to_pylist() != before


def test_locks_are_kept_only_while_changes_are_read(tmp_path: Path) -> None:
    table, shared = LiveTable(tmp_path, rows=5), SharedChanges(1 << 20)
    for _ in range(2):
        read_all(shared, table, 0, 1)
    with pytest.raises(MillraceError, match="can't be read"):
        read_all(shared, table, 1, 2)
    gc.collect()  # of the error, whose frames have the lock
    assert len(shared._reading) == 0


def read_all(shared: SharedChanges, table: LiveTable, after: int, upto: int) -> list[Any]:
    tables, versions = FolderTables(table.folder.parents[1]), range(after + 1, upto + 1)
    return [row for each in versions for row in shared.read(tables, TOUCHES, each).to_pylist()]
