"""Reads a file of Segment events, one JSON object per line, as written by SDKs and exports."""

from collections.abc import Iterable, Iterator

from millrace.clients.line_reader import Line
from millrace.clients.record import Record, key_of
from millrace.clients.rejected import LineReject


def looks_like_event(content: bytes) -> bool:
    """Whether a line starts like a JSON object."""
    return content.lstrip().startswith(b"{")


def segment_records(lines: Iterable[Line], rejected: LineReject) -> Iterator[Record]:
    """A record for each line, unchanged and not validated: silver rejects invalid ones.

    Empty lines are skipped; lines of white space are not.
    """
    for line in lines:
        if line.cut:
            rejected.add(line.number, "line is too long", line.content)
        elif line.content:
            yield Record(key_of(line.content), line.content, line.number)
