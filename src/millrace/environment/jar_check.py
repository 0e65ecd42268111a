"""Verifies jars against the lock before they are used; results are cached."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from lakehouse.errors import MillraceError
from millrace.environment.jar_lock import LockedJar, cache_folder, sha256_of
from millrace.local.process.state_files import read_state, write_state


def missing(jars: Iterable[LockedJar]) -> list[LockedJar]:
    """Jars that are not in the cache."""
    return [jar for jar in jars if not jar.path.is_file()]


def check(jars: Iterable[LockedJar]) -> None:
    """Verify jars of the cache.

    A file is read again only if its size or times have changed since it was last verified.

    Raises:
        MillraceError: if a jar is missing or does not match the lock.
    """
    jars = list(jars)
    if gone := missing(jars):
        raise MillraceError(
            f"{len(gone)} of {len(jars)} jars are not in {cache_folder()} (the first: {gone[0].file_name})",
            "Run `make setup`",
        )
    known = read_state(_memory())
    marks = {f"{jar.role}/{jar.file_name}": _mark(jar.path, jar) for jar in jars}
    for jar in jars:
        key = f"{jar.role}/{jar.file_name}"
        if known.get(key) != marks[key]:
            _check_content(jar)
    if any(known.get(key) != mark for key, mark in marks.items()):
        _remember(known | marks)


def _check_content(jar: LockedJar) -> None:
    if jar.path.stat().st_size != jar.size or sha256_of(jar.path) != jar.sha256:
        raise MillraceError(
            f"The jar {jar.path} has a wrong checksum and is not used",
            "Delete it, then run `make setup`, which downloads it again",
        )


def _mark(file: Path, jar: LockedJar) -> list[object]:
    # Includes the ctime, which unlike size and mtime can't be reset after a change of the content.
    found = file.stat()
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, jar.sha256]


def _memory() -> Path:
    return cache_folder() / "checked.json"


def _remember(marks: dict[str, object]) -> None:
    with suppress(OSError):  # without a writable cache, jars are verified each time
        write_state(_memory(), marks)
