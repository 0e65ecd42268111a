"""An access log in any notation that is known: each line as an entry, and as a page event."""

from folds.records.message import BYTE_ORDER_MARK
from millrace.clients.logs.combined_log import combined_entry
from millrace.clients.logs.json_log import json_entry, read_object
from millrace.clients.logs.load_balancer_log import is_load_balancer_line, load_balancer_entry
from millrace.clients.logs.log_entry import LogEntry, UnreadableLineError, decode, uid_of
from millrace.clients.logs.log_entry import page_event as event_of
from millrace.clients.logs.log_formats_file import LogFormats
from millrace.clients.logs.w3c_log import W3cLog

_LOOKED_AT = 4_000
"""Characters of a line that are compared with formats that are not read."""


class AccessLog:
    """Reads the lines of a log in order: combined format, W3C extended, AWS load balancers, JSON.

    Args:
        formats: of JSON logs, and those that are not read.
    """

    def __init__(self, formats: LogFormats) -> None:
        self._formats = formats
        self._w3c = W3cLog()

    def entry(self, content: bytes) -> LogEntry | None:
        """The entry of a line; None for a directive (`#Fields: …`), which is none.

        Args:
            content: a line with or without its line end, in UTF-8, else in Latin-1.

        Raises:
            UnreadableLineError: if it is no entry. The message says which format it looks like.
        """
        text = decode(stripped(content))
        if text.startswith("#") and self._w3c.read_directive(text):
            return None
        try:
            return self._read(text)
        except UnreadableLineError as error:
            like = self._formats.look_alike(text[:_LOOKED_AT])
            raise UnreadableLineError(f"{error}: it looks like {like.name}" if like else str(error)) from None

    def event(self, content: bytes, number: int, site: str | None) -> bytes | None:
        """The page event of a line; None for a directive.

        Args:
            content: as of `entry`.
            number: number of the line in its file, from 1.
            site: host of lines that name none.

        Raises:
            UnreadableLineError: if it is no entry.
        """
        entry = self.entry(content)
        return None if entry is None else event_of(entry, uid_of(stripped(content), number), site)

    def _read(self, text: str) -> LogEntry:
        if text.startswith("{") and (line := read_object(text)) is not None:
            return json_entry(line, self._formats.json_logs)
        if self._w3c.has_fields:
            return self._w3c.entry(text)
        if is_load_balancer_line(text):
            return load_balancer_entry(text)
        return combined_entry(text)


def page_event(content: bytes, number: int, site: str | None) -> bytes:
    """The page event of a line in combined format, see `AccessLog.event`.

    Raises:
        UnreadableLineError: if it is not in combined format (a cut-off user agent is accepted).
    """
    content = stripped(content)
    return event_of(combined_entry(decode(content)), uid_of(content, number), site)


def stripped(content: bytes) -> bytes:
    """A line without its line end and a byte order mark."""
    return content.rstrip(b"\r\n").removeprefix(BYTE_ORDER_MARK)
