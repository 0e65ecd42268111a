"""A snapshot of a table's files on disk, and of its Delta log, for the audit of bytes."""

from pathlib import Path
from typing import NamedTuple

from deltalake.exceptions import DeltaError

from millrace.audit.digests.files import (
    LOG,
    added_files,
    data_files,
    is_checkpoint,
    is_commit,
    live_files,
    log_files,
    logged_version,
)


class TableState(NamedTuple):
    """One table.

    Args:
        table: its name.
        folder: its folder.
        logged: files of its log.
        live: data files of its latest version, with their sizes; None if the log can't be read.
        stored: data files in its folder, of any version.
    """

    table: str
    folder: Path
    logged: set[str]
    live: dict[str, int] | None
    stored: set[str]

    @property
    def last_version(self) -> int:
        """Version of the last file in the log; -1 if there is none."""
        versions = (logged_version(path) for path in self.logged)
        return max((version for version in versions if version is not None), default=-1)


def read_state(table: str, folder: Path) -> TableState:
    """Read the state of a table. The log is listed first, so later commits are not checked."""
    logged = log_files(folder)
    try:
        live = live_files(folder) if logged else {}
    except (DeltaError, ValueError, OSError):
        live = None
    return TableState(table, folder, logged, live, set(data_files(folder)))


def is_live(state: TableState, path: str) -> bool:
    """Whether a data file belongs to the current latest version; true if the log can't be read."""
    live = read_state(state.table, state.folder).live
    return live is None or path in live


def missing_commits(state: TableState, last_recorded: int) -> list[int]:
    """Versions missing in the log, from its last checkpoint, else from version 0, to the last known one."""
    commits = {logged_version(path) for path in state.logged if is_commit(path)}
    checkpoints = {logged_version(path) or 0 for path in state.logged if is_checkpoint(path)}
    first = max(checkpoints, default=-1) + 1
    wanted = range(first, max(state.last_version, last_recorded) + 1)
    return [
        version
        for version in wanted
        if version not in commits and not (state.folder / LOG / f"{version:020}.json").exists()
    ]


def version_of(state: TableState, path: str) -> int | None:
    """The commit that added a data file; None if the log no longer has it."""
    for commit in sorted(filter(is_commit, state.logged), reverse=True):
        if path in _added(state.folder / commit):
            return logged_version(commit)
    return None


def _added(commit: Path) -> dict[str, int | None]:
    try:
        return added_files(commit)
    except (FileNotFoundError, ValueError):
        return {}
