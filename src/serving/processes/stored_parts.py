"""The parts of a result or a snapshot: a few in memory, the others on disk until they have been sent."""

import os
import tempfile
from collections.abc import Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

from serving.query_limits import TryLaterError

_IN_MEMORY = 64 << 10


class _Place(NamedTuple):
    """A part in the file: its texts one after the other, with these sizes."""

    start: int
    sizes: tuple[int, ...]


class StoredParts:
    """Stores parts of one or more texts each, which any thread may read.

    Args:
        folder: for the file, which has no name there; None: in the system's folder of temporary files.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._kept: list[tuple[bytes, ...]] = []
        self._places: list[_Place] = []
        self._size = 0

    def add(self, *texts: bytes) -> None:
        """Store a part after the others.

        Raises:
            TryLaterError: if the disk has no room.
        """
        size = sum(map(len, texts))
        if not self._places and self._size + size <= _IN_MEMORY:
            self._kept.append(texts)
            self._size += size
            return
        try:
            self._write(texts)
        except OSError as error:
            problem = f"the rows can't be written to disk: {error.strerror}"
            raise TryLaterError(problem, "Free some space, or try again later") from error

    def __iter__(self) -> Iterator[tuple[bytes, ...]]:
        """The parts, each read when it is its turn."""
        yield from self._kept
        for start, sizes in self._places:
            found = os.pread(self._file.fileno(), sum(sizes), start)
            yield tuple(found[first:last] for first, last in pairwise(accumulate(sizes, initial=0)))

    def _write(self, texts: tuple[bytes, ...]) -> None:
        if not self._places:
            self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115 - kept
        start = self._file.tell()
        for content in texts:
            written = 0
            while written < len(content):
                written += self._file.write(content[written:])
        self._places.append(_Place(start, tuple(map(len, texts))))
