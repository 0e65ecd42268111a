"""A file of Segment events, one JSON object a line, as the world's SDKs and exports write them."""

from collections.abc import Iterable, Iterator

from millrace.clients.line_reader import Line
from millrace.clients.record import Record, key_of
from millrace.clients.rejected import LineReject


def looks_like_event(content: bytes) -> bool:
    """Whether a line starts as a JSON object does."""
    return content.lstrip().startswith(b"{")


def segment_records(lines: Iterable[Line], rejected: LineReject) -> Iterator[Record]:
    """Each line as it stands, valid or not: what is wrong with it is for silver to say.

    A line without a single byte is no event. One of white space is something, and goes.
    """
    for line in lines:
        if line.cut:
            rejected.add(line.number, "line is too long", line.content)
        elif line.content:
            yield Record(key_of(line.content), line.content, line.number)
