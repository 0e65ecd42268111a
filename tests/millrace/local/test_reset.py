"""`millrace reset` removes what Millrace made, and refuses anything that could be something else."""

import pytest
from filelock import FileLock

from lakehouse.errors import MillraceError
from millrace.local.process.home_lock import workspace_lock
from millrace.local.reset import MADE, removable, remove


def made(home, *names):
    for name in names:
        (home / name).mkdir(parents=True)
        (home / name / "file").touch()


def test_all_that_was_made_goes_and_the_home_with_it(home):
    made(home, *MADE)
    assert [folder.name for folder in remove(home)] == list(MADE)
    assert not home.exists()


def test_what_others_put_there_stays(home):
    made(home, "warehouse/bronze", "run", "mine")
    list(remove(home))
    assert [left.name for left in home.iterdir()] == ["mine"]


@pytest.mark.parametrize("foreign", [".git", "bundle.yml", "pyproject.toml"])
def test_a_checkout_is_not_a_home(home, foreign):
    made(home, "warehouse/bronze", foreign)
    with pytest.raises(MillraceError, match=f"not a home of Millrace: it holds {foreign}"):
        removable(home)


def test_a_folder_that_holds_the_current_one_is_not_a_home(home, monkeypatch):
    made(home, "warehouse/bronze", "run")
    monkeypatch.chdir(home / "run")
    with pytest.raises(MillraceError, match="a folder for other things"):
        removable(home)


def test_folders_of_the_same_names_alone_prove_nothing(home):
    made(home, "logs", "spark")
    with pytest.raises(MillraceError, match="does not look like a home"):
        removable(home)


def test_nothing_goes_while_it_is_in_use(home):
    made(home, "warehouse/bronze", "run")
    with workspace_lock(home), pytest.raises(MillraceError, match="already running"):
        list(remove(home))
    with FileLock(home / "run" / "engine.lock"), pytest.raises(MillraceError, match="jobs are running"):
        list(remove(home))
    assert (home / "warehouse" / "bronze" / "file").exists()


def test_a_linked_folder_is_unlinked_not_emptied(home, tmp_path):
    made(tmp_path, "elsewhere")
    made(home, "run/x")
    (home / "run" / "workspace.lock").touch()
    (home / "warehouse").symlink_to(tmp_path / "elsewhere")
    list(remove(home))
    assert (tmp_path / "elsewhere" / "file").exists()
