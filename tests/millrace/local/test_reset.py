"""`millrace reset` removes the folders of Millrace, and rejects folders that may not be a home."""

import pytest
from filelock import FileLock

from lakehouse.errors import MillraceError
from millrace.local.process.home_lock import service_lock, workspace_lock
from millrace.local.reset import MADE, removable, remove


def make_folders(home, *names):
    for name in names:
        (home / name).mkdir(parents=True)
        (home / name / "file").touch()


def test_reset_removes_all_folders_and_empty_home(home):
    make_folders(home, *MADE)
    assert [folder.name for folder in remove(home)] == list(MADE)
    assert not home.exists()


def test_reset_keeps_foreign_folders(home):
    make_folders(home, "warehouse/bronze", "run", "mine")
    list(remove(home))
    assert [left.name for left in home.iterdir()] == ["mine"]


@pytest.mark.parametrize("foreign", [".git", "bundle.yml", "pyproject.toml"])
def test_reset_rejects_a_checkout(home, foreign):
    make_folders(home, "warehouse/bronze", foreign)
    with pytest.raises(MillraceError, match=f"not a home of Millrace: it holds {foreign}"):
        removable(home)


def test_reset_rejects_parent_of_working_directory(home, monkeypatch):
    make_folders(home, "warehouse/bronze", "run")
    monkeypatch.chdir(home / "run")
    with pytest.raises(MillraceError, match="a folder for other things"):
        removable(home)


def test_reset_rejects_home_with_generic_folder_names_only(home):
    make_folders(home, "logs", "spark")
    with pytest.raises(MillraceError, match="does not look like a home"):
        removable(home)


def test_reset_is_rejected_while_home_is_in_use(home):
    make_folders(home, "warehouse/bronze", "run")
    with workspace_lock(home), pytest.raises(MillraceError, match="already running"):
        list(remove(home))
    with FileLock(home / "run" / "engine.lock"), pytest.raises(MillraceError, match="jobs are running"):
        list(remove(home))
    with service_lock(home, "collect-8787"), pytest.raises(MillraceError, match="collect-8787 is running"):
        list(remove(home))
    assert (home / "warehouse" / "bronze" / "file").exists()


def test_reset_unlinks_linked_folder_without_emptying_it(home, tmp_path):
    make_folders(tmp_path, "elsewhere")
    make_folders(home, "run/x")
    (home / "run" / "workspace.lock").touch()
    (home / "warehouse").symlink_to(tmp_path / "elsewhere")
    list(remove(home))
    assert (tmp_path / "elsewhere" / "file").exists()


def test_reset_removes_database_of_sample_shop_outside_home(home, tmp_path, monkeypatch):
    elsewhere = tmp_path / "shop-data"
    make_folders(tmp_path, "shop-data")
    make_folders(home, "warehouse/bronze")
    monkeypatch.setattr("millrace.local.reset.data_folder", lambda _home: elsewhere)
    assert elsewhere in list(remove(home))
    assert not elsewhere.exists()
