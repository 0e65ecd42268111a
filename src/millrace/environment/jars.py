"""The jars of Spark and the broker, downloaded once and verified before each use."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from filelock import FileLock

from lakehouse.errors import MillraceError
from millrace.environment.ivy import retrieve, write_request
from millrace.environment.jar_check import check, missing
from millrace.environment.jar_lock import LockedJar, cache_folder, read_lock, sha256_of

Progress = Callable[[str, int, int], None]
"""Called with a description, bytes done and total bytes."""


def spark_jars() -> list[Path]:
    """Jars that Spark needs in addition to its own, with verified checksums.

    Raises:
        MillraceError: if a jar is missing or does not match the lock.
    """
    return _checked("spark")


def broker_jars() -> list[Path]:
    """The classpath of the broker, with verified checksums.

    Raises:
        MillraceError: if a jar is missing or does not match the lock.
    """
    return _checked("broker")


def ensure_jars(progress: Progress | None = None) -> None:
    """Download every jar of the lock that is not in the cache.

    Only one process at a time downloads. After an interruption, the next call continues the download.

    Args:
        progress: called with the progress of downloads.

    Raises:
        MillraceError: if a jar can't be downloaded, or does not match the lock.
    """
    wanted = read_lock()
    if missing(wanted):
        cache_folder().mkdir(parents=True, exist_ok=True)
        with FileLock(cache_folder() / ".lock"):
            if gone := missing(wanted):
                _fetch(gone, progress or _say_nothing)
    check(wanted)


def _checked(role: str) -> list[Path]:
    jars = [jar for jar in read_lock() if jar.role == role]
    check(jars)
    return [jar.path for jar in jars]


def _fetch(jars: list[LockedJar], progress: Progress) -> None:
    downloads = cache_folder() / "downloads"
    downloads.mkdir(exist_ok=True)
    for left in cache_folder().glob("incoming-*"):  # left by a killed process: this one holds the lock now
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=cache_folder(), prefix="incoming-") as scratch:
        incoming = Path(scratch)
        module, settings = write_request(jars, incoming)
        pattern = f"{incoming}/[conf]/[artifact]-[revision].[ext]"
        there = sum(jar.size for jar in jars if any(downloads.rglob(jar.file_name)))
        _follow(retrieve(module, settings, pattern, downloads), jars, there, progress)
        for jar in jars:
            _take_in(jar, incoming / jar.role / jar.file_name)
    shutil.rmtree(downloads, ignore_errors=True)


def _take_in(jar: LockedJar, arrived: Path) -> None:
    """Move a downloaded jar to the cache if it matches the lock."""
    if not arrived.is_file() or sha256_of(arrived) != jar.sha256:
        # The download is wrong: delete it, so that the next attempt does not reuse it.
        shutil.rmtree(cache_folder() / "downloads", ignore_errors=True)
        raise MillraceError(
            f"The jar {jar.file_name} was fetched with a wrong checksum and is not used",
            "Run `make setup` again; if it stays so, something on the way to the registry changes files",
        )
    jar.path.parent.mkdir(exist_ok=True)
    arrived.replace(jar.path)


def _follow(lines: Iterator[str], jars: list[LockedJar], done: int, progress: Progress) -> None:
    """Convert Ivy's output to progress: Ivy resolves all jars first, then downloads missing ones."""
    total = sum(jar.size for jar in jars)
    sizes = {f"{jar.organisation}#{jar.name};{jar.revision}": jar.size for jar in jars}
    found = 0
    for line in lines:
        if line.startswith("found "):
            found += 1
            progress(f"looking up jars ({found} of {len(jars)})", done, total)
        elif line.startswith("[SUCCESSFUL ]"):
            done += sizes.get(line.split()[2].partition("!")[0], 0)
            progress(f"fetching {line.split()[2].partition('!')[2]}", done, total)


def _say_nothing(_text: str, _done: int, _total: int) -> None:
    pass
