"""Files of a home that may name a person: lines of logs, and reports that jobs write again."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from privacy.search.file_search import search_file
from privacy.search.matching.matcher import Matcher

OF_LINES = ("logs", "rejected", "runs")
"""Folders of a home with files of lines: those that name a person are overwritten with blanks."""

REMOVED = ("quality", "mlflow/artifacts")
"""Folders of a home with reports: files that name a person are removed. Jobs write new ones."""


def erase_from_files(home: Path, texts: Sequence[str]) -> list[str]:
    """Erase persons from logs, from lines that were rejected before Kafka, and from reports. Idempotent.

    Lines are overwritten in place: a process that appends to the file goes on. A file of one JSON object is
    removed, and so is one that still names a person, as a compressed one does.

    Args:
        home: the folder of all local state.
        texts: identifiers of the persons alone.

    Returns:
        Paths of changed and removed files, from the home.
    """
    if not texts:
        return []
    matcher, changed = Matcher(texts), []
    for folder in (*OF_LINES, *REMOVED):
        for file in _files(home / folder):
            if not _names_one(file, matcher):
                continue
            changed.append(str(file.relative_to(home)))
            if folder in OF_LINES and file.suffix != ".json":
                _blank_lines(file, matcher)
            if _names_one(file, matcher):
                file.unlink()
    return changed


def _files(folder: Path) -> Iterator[Path]:
    yield from (file for file in sorted(folder.rglob("*")) if file.is_file() and not file.is_symlink())


def _names_one(file: Path, matcher: Matcher) -> bool:
    if any(match.is_whole for match in matcher.find_in(str(file).encode(errors="surrogateescape"))):
        return True
    try:
        return bool(search_file(matcher, file, lambda _: None).counts)
    except FileNotFoundError:  # removed by a job
        return False


def _blank_lines(file: Path, matcher: Matcher) -> None:
    with file.open("r+b") as content:
        for start, length in _lines_naming(content, matcher):
            content.seek(start)
            content.write(b" " * length)


def _lines_naming(content: BinaryIO, matcher: Matcher) -> list[tuple[int, int]]:
    """Start and length of the lines that name a person, without their line breaks."""
    found, start = [], 0
    for line in content:
        if any(match.is_whole for match in matcher.find_in(line)):
            found.append((start, len(line.rstrip(b"\r\n"))))
        start += len(line)
    return found
