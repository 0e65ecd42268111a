"""Searches one file: its bytes, and what is in it in a format of its own."""

import hashlib
import sqlite3
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from shutil import copyfileobj
from typing import IO, BinaryIO, NamedTuple, cast

import pyarrow as pa

from privacy.search import kafka_log, parquet_file, sqlite_file
from privacy.search.matching.compressed import CHUNK, MAGICS, DamagedError, decompressed
from privacy.search.matching.matcher import Matcher
from privacy.search.places import Counts, RawCounts

_ZIP = b"PK\x03\x04"
_HEAD = 16


class FileResult(NamedTuple):
    """What is in a file.

    Args:
        size: bytes that were read.
        sha256: of these bytes.
        counts: matches.
        problem: why it was searched in part only; empty if it was searched whole.
    """

    size: int
    sha256: str
    counts: Counts
    problem: str = ""


def search_file(matcher: Matcher, path: Path, progress: Callable[[int], None]) -> FileResult:
    """Search a file.

    Args:
        matcher: of the identifiers.
        path: of the file.
        progress: is called with a number of bytes once they are searched.

    Raises:
        OSError: if it can't be read.
    """
    digest, size = hashlib.sha256(), 0

    def chunks() -> Iterator[bytes]:
        nonlocal size
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            size += len(chunk)
            yield chunk
            progress(len(chunk))

    with path.open("rb") as file:
        counts, problem = _search_open(matcher, file, chunks(), path)
    return FileResult(size, digest.hexdigest(), counts, problem)


def _search_open(
    matcher: Matcher, file: BinaryIO, chunks: Iterator[bytes], path: Path | None
) -> tuple[Counts, str]:
    """The matches of an open file, and why something of it was not searched.

    Args:
        matcher: of the identifiers.
        file: the file, at its start.
        chunks: reads it from its start.
        path: of the file; None of a member of an archive.
    """
    head, problem = file.read(_HEAD), ""
    found: Counts = Counter()
    raw: RawCounts = Counter()
    try:
        name = parquet_file.part_of(file) if head.startswith(parquet_file.MAGIC) else _nameless
    except (pa.ArrowException, OSError) as error:
        head, name, problem = b"", _nameless, _line(error)
    file.seek(0)
    raw.update((name(match.start), match.encoding, match.is_whole) for match in matcher.find(chunks))
    try:
        if head.startswith(parquet_file.MAGIC):
            return parquet_file.search_parquet(matcher, file, raw), ""
        if head.startswith(sqlite_file.MAGIC) and path is not None:
            return sqlite_file.search_sqlite(matcher, path, raw), ""
        for part, inside in _parts(file, head, path):
            found.update((part, match.encoding) for match in matcher.find(inside) if match.is_whole)
        if head.startswith(_ZIP):
            found.update(_search_archive(matcher, file))
    except (
        DamagedError,
        pa.ArrowException,
        OSError,
        sqlite3.Error,
        zipfile.BadZipFile,
        RuntimeError,
    ) as error:
        problem = _line(error)
    for (part, encoding, is_whole), count in raw.items():
        found[part, encoding] += count * is_whole
    return +found, problem


def _nameless(_: int) -> str:
    return ""


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _parts(file: BinaryIO, head: bytes, path: Path | None) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Streams in a file that are compressed, each with the name of its part."""
    if head.startswith(MAGICS):
        file.seek(0)
        content = decompressed(iter(partial(file.read, CHUNK), b""))
        if content is not None:
            yield "decompressed", content
    elif path is not None and kafka_log.SEGMENT.fullmatch(path.name):
        yield from (("records", records) for records in kafka_log.compressed_batches(file))


def _search_archive(matcher: Matcher, file: IO[bytes]) -> Counts:
    """Matches in the members of a zip archive, which are copied to a file without a name one by one."""
    found: Counts = Counter()
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            with archive.open(member) as source, tempfile.TemporaryFile() as copy:
                copyfileobj(source, copy)
                copy.seek(0)
                chunks = iter(partial(copy.read, CHUNK), b"")
                counts, problem = _search_open(matcher, cast(BinaryIO, copy), chunks, None)
            if problem:
                raise DamagedError(f"{member.filename}: {problem}")
            for (part, encoding), count in counts.items():
                found[" ".join(filter(None, (f"member {member.filename}", part))), encoding] += count
    return found
