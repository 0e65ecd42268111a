"""Files of a table's log: one JSON file a commit."""

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

_COMMIT = re.compile(r"\d{20}\.json")


def commit_file(folder: Path, version: int) -> Path:
    """Path of a commit in a table's log."""
    return folder / "_delta_log" / f"{version:020}.json"


def latest_version(folder: Path, known: int = -1) -> int:
    """The latest version of a table; -1 if there is none.

    Args:
        folder: of the table.
        known: an earlier version, from which later commits are found without listing the log.
    """
    version = known
    if not commit_file(folder, version).exists():
        log = folder / "_delta_log"
        names = [file.name for file in log.iterdir()] if log.is_dir() else []
        version = max((int(name[:20]) for name in names if _COMMIT.fullmatch(name)), default=-1)
    while commit_file(folder, version + 1).exists():
        version += 1
    return version


def read_metadata(folder: Path, version: int) -> Mapping[str, Any]:
    """The metadata that the writer of a commit added: `Lakehouse` adds job, high-water marks and others.

    Args:
        folder: of the table.
        version: of the commit.

    Returns:
        The metadata; empty if there is none, or if log retention has removed the commit.
    """
    with suppress(FileNotFoundError), commit_file(folder, version).open(encoding="utf-8") as lines:
        infos = (json.loads(line)["commitInfo"] for line in lines if line.startswith('{"commitInfo"'))
        info: Mapping[str, Any] = next(infos, {})
        return parse_metadata(info.get("userMetadata"))
    return {}


def parse_metadata(text: str | None) -> Mapping[str, Any]:
    """The metadata of a commit; empty if another program has written its own text."""
    with suppress(ValueError):
        found = json.loads(text or "{}")
        if isinstance(found, dict):
            return found
    return {}


def written_at(folder: Path, version: int) -> int:
    """When a commit was written, in nanoseconds since 1970; 0 if it has no file, or no longer."""
    try:
        return commit_file(folder, version).stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def marks_after(folder: Path, position: int) -> list[tuple[int, int]]:
    """High-water mark and time of writing, both in microseconds, of the commits of later input, latest first.

    Args:
        folder: of the table.
        position: an ingest stamp in microseconds; reading stops at the first commit up to it.
    """
    found = []
    version = latest_version(folder)
    while commit_file(folder, version).exists():
        mark = read_metadata(folder, version).get("upto")
        if isinstance(mark, int):
            if mark < position:
                break
            found.append((mark, written_at(folder, version) // 1000))
        version -= 1
    return found


def last_version_within(
    latest: int,
    position: int,
    first_writer: str,
    metadata: Callable[[int], Mapping[str, Any] | None],
    written_at: Callable[[int], int],
) -> int:
    """The last version of a table before the first commit beyond a high-water mark.

    Commits before one of the table's first writer up to that mark need not be read, since no other job is
    ahead of it; nor do those before a commit that was written before that time. The latter does not hold for
    a commit whose own mark is later than its time: the clock has been set back since, and stamps have not.

    Args:
        latest: the latest version.
        position: an ingest stamp in microseconds.
        first_writer: the first job that writes rows of a stamp to the table.
        metadata: returns the metadata of the commit of a version.
        written_at: returns when a commit was written, in nanoseconds since 1970; 0 if it was removed.

    Raises:
        LookupError: if all commits that were not removed are beyond the mark.
    """
    best = latest
    for version in range(latest, 0, -1):
        at = written_at(version)
        if not at:
            if best == version < latest:
                raise LookupError(version)
            break
        found = metadata(version) or {}
        mark = found.get("upto")
        if not isinstance(mark, int):
            continue
        if mark > position:
            best = version - 1
        elif found.get("job") == first_writer or mark * 1000 <= at < position * 1000:
            break
    return best
