"""Files of a table's log: one JSON file a commit."""

import re
from pathlib import Path

_COMMIT = re.compile(r"\d{20}\.json")


def commit_file(folder: Path, version: int) -> Path:
    """Path of a commit in a table's log."""
    return folder / "_delta_log" / f"{version:020}.json"


def latest_version(folder: Path, known: int = -1) -> int:
    """The latest version of a table; -1 if there is none.

    Args:
        folder: of the table.
        known: a version that it had before, from which on commits are looked up without listing the log.
    """
    version = known
    if not commit_file(folder, version).exists():
        log = folder / "_delta_log"
        names = [file.name for file in log.iterdir()] if log.is_dir() else []
        version = max((int(name[:20]) for name in names if _COMMIT.fullmatch(name)), default=-1)
    while commit_file(folder, version + 1).exists():
        version += 1
    return version
