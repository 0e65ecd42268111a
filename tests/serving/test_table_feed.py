"""The feed of a table that is replaced while it is read."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from kit.warehouse_builder import append_rows, replace_rows
from lakehouse.contracts import TABLES
from lakehouse.delta.table_identity import table_id
from lakehouse.errors import MillraceError
from serving import table_feed
from serving.table_feed import TableFeed

NAME = "gold.funnel"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table with two versions."""
    rows(tmp_path, 1, 2)
    return tmp_path / "warehouse" / "gold" / "funnel"


def rows(home: Path, *visitors: int) -> None:
    for each in visitors:
        append_rows(home, NAME, [{"step": f"step {each}", "visitors": each}])


def feed_of(home: Path, version: int | None = None, known_id: str = "") -> TableFeed:
    return TableFeed(home / "warehouse", TABLES[NAME], version, known_id)


def read(feed: TableFeed) -> list[Any]:
    return [dict(row) for group in feed.poll() for row in group.rows]


def test_rows_that_are_replaced_leave_the_table_the_same(folder: Path, tmp_path: Path) -> None:
    feed, known = feed_of(tmp_path), table_id(folder)
    assert len(read(feed)) == 2
    replace_rows(tmp_path, NAME, [{"step": "step 2", "visitors": 2}])
    DeltaTable(folder).optimize.compact()
    DeltaTable(folder).create_checkpoint()
    assert [change["change"] for change in read(feed)] == ["delete"]
    assert feed.table_ids == {NAME: known} == {NAME: table_id(folder)}


@pytest.mark.parametrize("versions", [1, 2, 3, 5])
def test_table_made_again_is_noticed_whatever_its_versions(
    folder: Path, tmp_path: Path, versions: int
) -> None:
    feed = feed_of(tmp_path)
    read(feed)
    shutil.rmtree(folder)
    rows(tmp_path, *range(versions))
    if versions == 2:  # as many as before: nothing to read yet
        assert read(feed) == []
        rows(tmp_path, 9)
    with pytest.raises(MillraceError, match=r"made again.*Begin with a snapshot"):
        read(feed)
    with pytest.raises(MillraceError, match="made again"):
        read(feed_of(tmp_path, 0, known_id="another"))


def test_table_made_again_while_its_changes_are_read_is_noticed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = table_feed.read_changes

    def replaced(*arguments: Any) -> Any:
        shutil.rmtree(folder)
        rows(tmp_path, *range(4))
        return original(*arguments)

    monkeypatch.setattr(table_feed, "read_changes", replaced)
    feed = feed_of(tmp_path, 0)
    with pytest.raises(MillraceError, match="made again"):
        read(feed)
    assert feed.position == {NAME: 0}


def test_group_names_the_table_that_was_read(folder: Path, tmp_path: Path) -> None:
    groups: Iterator[Any] = feed_of(tmp_path, 0).poll()
    assert next(groups).table_ids == {NAME: table_id(folder)}


def test_there_is_no_id_without_a_table(tmp_path: Path) -> None:
    assert table_id(tmp_path / "none") == ""
