"""The parts of a result: a few in memory, the others on disk until they have been sent."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from serving.query_limits import TryLaterError
from serving.sources.query_result import Part

_IN_MEMORY = 64 << 10


class _Place(NamedTuple):
    """A part in the file: first its rows, then its keys; None if they have none."""

    start: int
    rows: int
    keys: int | None


class StoredParts:
    """Stores parts, which any thread may read.

    Args:
        folder: for the file, which has no name there; None: in the system's folder of temporary files.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._kept: list[Part] = []
        self._places: list[_Place] = []
        self._size = 0

    def add(self, part: Part) -> None:
        """Store a part after the others.

        Raises:
            TryLaterError: if the disk has no room.
        """
        if not self._places and self._size + part.size <= _IN_MEMORY:
            self._kept.append(part)
            self._size += part.size
            return
        try:
            self._write(part)
        except OSError as error:
            problem = f"the result can't be written to disk: {error.strerror}"
            raise TryLaterError(problem, "Free some space, or try again later") from error

    def __iter__(self) -> Iterator[Part]:
        """The parts, each read when it is its turn."""
        yield from self._kept
        for start, rows, keys in self._places:
            found = os.pread(self._file.fileno(), rows + (keys or 0), start)
            yield Part(found[:rows], None if keys is None else found[rows:])

    def _write(self, part: Part) -> None:
        if not self._places:
            self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115 - kept
        start = self._file.tell()
        for content in (part.rows, part.keys or b""):
            written = 0
            while written < len(content):
                written += self._file.write(content[written:])
        self._places.append(_Place(start, len(part.rows), None if part.keys is None else len(part.keys)))
