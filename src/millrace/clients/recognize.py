"""Recognises the format of a file by its first lines."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lakehouse.errors import MillraceError
from millrace.clients.access_log import AccessLog
from millrace.clients.logs.json_log import is_segment_event, read_object
from millrace.clients.logs.log_entry import UnreadableLineError, decode
from millrace.clients.logs.log_formats_file import LogFormats
from millrace.clients.logs.w3c_log import NOTATION as W3C

SEGMENT, ACCESS_LOG = "segment", "access-log"
_SEGMENT_EVENTS = "Segment events"
_LOOKED_AT = 4_000


class Recognized(NamedTuple):
    """The format of a file, and its description, as `combined log`."""

    format_name: str
    description: str


def recognize(lines: Iterable[bytes], name: str, formats: LogFormats) -> Recognized:
    """The format of most of the lines that can be read.

    Args:
        lines: the first of a file.
        name: of the file.
        formats: of JSON logs, and those that are not read.

    Raises:
        MillraceError: if none can be read; the message names the format they look like.
    """
    lines = list(lines)
    found = Counter(_descriptions(lines, formats))
    if not found:
        text = decode(next(filter(bytes.strip, lines), b""))[:_LOOKED_AT]
        like = formats.look_alike(text)
        if like:
            raise MillraceError(f"{name} looks like {like.name}, which is not read", like.hint)
        raise MillraceError(
            f"{name} is in no known format: its first lines are neither Segment events nor an access log",
            "Name its format with --format to see why each line is refused",
        )
    description = found.most_common(1)[0][0]
    return Recognized(SEGMENT if description == _SEGMENT_EVENTS else ACCESS_LOG, description)


def _descriptions(lines: list[bytes], formats: LogFormats) -> Iterator[str]:
    log = AccessLog(formats)
    for line in lines:
        text = decode(line) if line.lstrip().startswith(b"{") else ""
        if text and is_segment_event(read_object(text) or {}):
            yield _SEGMENT_EVENTS
            continue
        try:
            entry = log.entry(line)
        except UnreadableLineError:
            continue
        yield W3C if entry is None else entry.notation
