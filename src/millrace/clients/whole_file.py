"""Reads a file whole, for formats of which one row that cannot be read refuses the file."""

from collections.abc import Sequence

from lakehouse.errors import MillraceError
from millrace.clients.line_reader import Source
from millrace.shutdown_signal import ShutdownSignal, StoppedError


def read_whole(file: str, stop: ShutdownSignal) -> tuple[str, list[bytes]]:
    """The name of a file for messages, and its lines, without their ends.

    Args:
        file: path, or `-` for standard input.
        stop: interrupts the wait for standard input.

    Raises:
        MillraceError: if it can't be read, or is empty or compressed.
    """
    try:
        source = Source(file, stop)
    except StoppedError:
        raise MillraceError("stopped before the first line", "Nothing was sent") from None
    try:
        return source.name, [line.content for line in source]
    finally:
        source.close()


def decode_lines(lines: Sequence[bytes], file: str) -> list[str]:
    """The lines as text.

    Raises:
        MillraceError: if one is not UTF-8. The message names the line.
    """
    return [_decoded(line, number, file) for number, line in enumerate(lines, 1)]


def _decoded(line: bytes, number: int, file: str) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise MillraceError(
            f"line {number} of {file} is not UTF-8", f"Convert it: `iconv -f WINDOWS-1252 -t UTF-8 {file}`"
        ) from None
