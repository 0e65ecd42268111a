"""Reads lines of a file or of standard input, as bytes with line numbers."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from folds.records.message import BYTE_ORDER_MARK
from lakehouse.errors import MillraceError
from millrace.shutdown_signal import ShutdownSignal

LONGEST_LINE = 8 << 20
"""Maximum bytes of a line; a longer line is cut and set aside, to bound memory without line ends."""

SAMPLE_LINES = 1000
"""Number of lines that are read ahead from a file; from standard input, one is."""

_COMPRESSED = {
    b"\x1f\x8b": "gzip -dc",
    b"\x28\xb5\x2f\xfd": "zstd -dc",
    b"BZh": "bzip2 -dc",
    b"\xfd7zXZ": "xz -dc",
    b"PK\x03\x04": "unzip -p",
}

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""Byte order marks of UTF-16, with which PowerShell writes files."""


class Line(NamedTuple):
    """A line: number from 1, its bytes, and whether it was cut at `LONGEST_LINE`.

    The bytes are those between line ends, without a byte order mark at their start.
    """

    number: int
    content: bytes
    cut: bool = False


class Source:
    """A file, or `-` for standard input, read once from start to end.

    The first lines are read ahead, so that a wrong file is refused before anything is sent.

    Args:
        name: path, or `-`.
        stop: interrupts the wait for standard input.

    Raises:
        MillraceError: if it can't be read, or is empty or compressed.
    """

    def __init__(self, name: str, stop: ShutdownSignal) -> None:
        self.name = "standard input" if name == "-" else name
        self.bytes_read = 0
        self.size: int | None = None
        self._stop = stop
        self._piped = name == "-"
        self._file: BinaryIO = sys.stdin.buffer if self._piped else self._open(Path(name))
        self._lines = self._read()
        self.sample = self._first_lines(name)

    def __iter__(self) -> Iterator[Line]:
        yield from self.sample
        yield from self._lines

    def refuse_binary(self, is_one: Callable[[bytes], bool], format_name: str) -> None:
        """Refuse a file whose first lines have more lines with a NUL byte than lines of its format.

        Text has no NUL bytes, but a log that was damaged by a crash has a few.
        """
        start = [line.content for line in self.sample]
        if sum(b"\0" in content for content in start) > sum(map(is_one, start)):
            raise MillraceError(
                f"{self.name} is binary, not {format_name}",
                "Give a text file with one event a line",
            )

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if not self._piped:
            self._file.close()

    def _open(self, path: Path) -> BinaryIO:
        try:
            file = path.open("rb")
        except IsADirectoryError:
            raise MillraceError(f"{path} is a folder", "Give one of the files in it") from None
        except OSError as error:
            raise MillraceError(
                f"{path} can't be read: {(error.strerror or 'unknown reason').lower()}",
                "Check the path, or use - to read standard input",
            ) from error
        self.size = os.fstat(file.fileno()).st_size or None
        return file

    def _read(self) -> Iterator[Line]:
        number = 0
        while content := self._read_line():
            number += 1
            cut = len(content) > LONGEST_LINE and not content.endswith(b"\n")
            rest = content
            while cut and rest and not rest.endswith(b"\n"):
                rest = self._read_line()
            content = content[:LONGEST_LINE].removesuffix(b"\n").removesuffix(b"\r")
            yield Line(number, content.removeprefix(BYTE_ORDER_MARK), cut)

    def _read_line(self) -> bytes:
        # Only a pipe may block; reads of a file are not interrupted within a record.
        with self._stop.interruptible() if self._piped else nullcontext():
            content = self._file.readline(LONGEST_LINE + 1)
        self.bytes_read += len(content)
        return content

    def _first_lines(self, name: str) -> list[Line]:
        # A pipe may be live: reading ahead would delay its lines.
        sample = list(islice(self._lines, 1 if self._piped else SAMPLE_LINES))
        if not sample:
            raise MillraceError(f"{self.name} is empty", "Give a file with one event a line")
        if sample[0].content.startswith(_UTF_16):
            raise MillraceError(
                f"{self.name} is UTF-16, not UTF-8",
                f"Convert it on the way: `iconv -f UTF-16 -t UTF-8 {name} | millrace load - --format …`",
            )
        for magic, command in _COMPRESSED.items():
            if sample[0].content.startswith(magic):
                raise MillraceError(
                    f"{self.name} is compressed",
                    f"Unpack it on the way: `{command} {name} | millrace load - --format …`",
                )
        return sample
