"""Deletes local state: only files that Millrace created."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from lakehouse.bundle_file import BUNDLE_FILE
from lakehouse.errors import MillraceError
from millrace.local.postgres_server import data_folder
from millrace.local.process.home_lock import require_idle, workspace_lock

MADE = (
    "checkpoints",
    "collect",
    "kafka",
    "logs",
    "manifests",
    "mlflow",
    "privacy",
    "quality",
    "rejected",
    "runs",
    "serve",
    "serving",
    "shop",
    "spark",
    "warehouse",
    "run",  # last, since it contains the locks
)
"""The folders that Millrace creates in its home."""

_SIGNS = (
    "run/workspace.lock",
    "run/engine.lock",
    "kafka/data/meta.properties",
    "warehouse/bronze",
    "manifests",
)
_NOT_A_HOME = (".git", BUNDLE_FILE, "pyproject.toml")


def removable(home: Path) -> list[Path]:
    """Folders that Millrace created: of a home, and the sample shop's database, which may be elsewhere.

    Raises:
        MillraceError: if the folder does not look like a home, since other files could be deleted.
    """
    foreign = next((name for name in _NOT_A_HOME if (home / name).exists()), None)
    if foreign or any(place.is_relative_to(home) for place in (Path.cwd(), Path.home())):
        why = f"it holds {foreign}" if foreign else "it is a folder for other things"
        raise MillraceError(f"{home} is not a home of Millrace: {why}", "Correct MILLRACE_HOME")
    found = [home / name for name in MADE if (home / name).exists()]
    if found and not any((home / sign).exists() for sign in _SIGNS):
        raise MillraceError(
            f"{home} does not look like a home of Millrace: nothing of a workspace is in it",
            "Correct MILLRACE_HOME, or remove what is there yourself",
        )
    shop = data_folder(home)
    return [*found, shop] if shop.exists() and shop not in found else found


def remove(home: Path) -> Iterator[Path]:
    """Delete the folders of `removable`, yielding each, then the home if it is empty.

    Raises:
        MillraceError: if processes of the home are running.
    """
    with workspace_lock(home):
        require_idle(home)
        for folder in removable(home):
            if folder.is_symlink():
                folder.unlink()
            else:
                shutil.rmtree(folder)
            yield folder
    if not any(home.iterdir()):
        home.rmdir()
