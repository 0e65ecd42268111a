"""Lines of Apache's and nginx's combined log format, with what servers write before and after them."""

import re
from typing import NamedTuple

from millrace.clients.logs.log_address import (
    client_address,
    first_address,
    is_internal,
    read_address,
    read_host,
)
from millrace.clients.logs.log_entry import (
    MISSING,
    LogEntry,
    UnreadableLineError,
    present,
    read_number,
    read_request,
    read_user,
    unescape,
)
from millrace.clients.logs.log_time import log_time

_QUOTED = r'"((?:[^"\\]|\\.)*)'
# The time in brackets; some servers write the virtual host after it, and the request follows in quotes.
_TIME = re.compile(r'\[([^\]\[]{0,40})\]\s+(?:"?([^\s"]+)"?\s+)?(?=")')
# Quoted fields hold \" for a quote. A line cut off in its last field, the user agent, has no closing quote.
_REST = re.compile(
    _QUOTED + r'"\s+(\d{3})\s+(\d+|-)\s+' + _QUOTED + r'"\s+' + _QUOTED + r'(?:"(\s.*)?|\\?)$', re.DOTALL
)
_FORWARDED = re.compile(r'\s"([0-9A-Fa-f:.\[\], ]+)"')
# What syslog, Docker and Kubernetes write before a line.
_PREFIX = re.compile(
    r"(?:<\d{1,3}>)?(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+) \S+ \S+: +"
    r"|\S+ +\| +|\d{4}-\d\d-\d\dT\S+ std(?:out|err) [FP] "
)
_LIST = re.compile(r"[^\s,]+(?:\s*,\s*[^\s,]+)+")
_CLF_COLUMNS = 3  # address, identity, user


class _Head(NamedTuple):
    """The columns before the time."""

    address: str
    user: str
    host: str


def combined_entry(text: str) -> LogEntry:
    """Read a line.

    Raises:
        UnreadableLineError: if it is not in combined format (a cut-off user agent is accepted).
    """
    start = _TIME.search(text)
    rest = _REST.match(text, start.end()) if start else None
    head = _read_head(text[: start.start()]) if start else None
    if start is None or rest is None or head is None:
        raise UnreadableLineError("not in combined format")
    time, (method, target) = log_time(start[1]), read_request(rest[1])
    host = read_host(head.host) or read_host(start[2] or "")
    forwarded = _FORWARDED.match(rest[6] or "")
    return LogEntry(
        notation="combined log with virtual hosts" if host else "combined log",
        address=client_address(head.address, forwarded[1] if forwarded else ""),
        time=time,
        method=method,
        target=target,
        status=int(rest[2]),
        size=read_number(rest[3]),
        referrer=present(unescape(rest[4])),
        agent=present(unescape(rest[5])),
        user=read_user(unescape(head.user)),
        host=host[0] if host else None,
        scheme=host[1] if host else "http",
    )


def _read_head(text: str) -> _Head | None:
    """The columns before the time; None if there are too few."""
    columns = _columns(text)
    if len(columns) == _CLF_COLUMNS and read_address(columns[0]):  # most lines
        return _Head(columns[0], columns[2], "")
    at = next((at for at, column in enumerate(columns) if first_address(column)), None)
    if at != 0 and (prefix := _PREFIX.match(text)):
        return _read_head(text[prefix.end() :])
    if at is None:
        return _head_of_names(columns)
    # Of addresses in a row the last is the client's, unless the first is a forwarded list.
    last = at
    while len(columns) > last + 1 and read_address(columns[last + 1]):
        last += 1
    at = at if "," in columns[at] else last
    host = _virtual_host(columns[:at])
    rest = columns[last + 1 :]
    if not host and len(rest) == _CLF_COLUMNS and _is_virtual_host(rest[0]):
        host, rest = rest[0], rest[1:]
    return _Head(columns[at], _user(rest), host)


def _head_of_names(columns: list[str]) -> _Head | None:
    """The columns of a log that has names of clients, or no clients at all, for addresses."""
    if len(columns) < _CLF_COLUMNS:
        return None
    has_host = len(columns) > _CLF_COLUMNS and (columns[1] not in MISSING or columns[2] in MISSING)
    host, columns = (columns[0], columns[1:]) if has_host else ("", columns)
    return _Head(columns[0], _user(columns[1:]), host)


def _columns(text: str) -> list[str]:
    """The columns, quoted or not; a list with commas is one column if it holds an address."""
    if "," in text:
        text = _LIST.sub(
            lambda found: "".join(found[0].split()) if first_address(found[0]) else found[0], text
        )
    return text.replace('"', " ").split()


def _user(rest: list[str]) -> str:
    """The user, after the identity. A user is never made of other columns."""
    return rest[1] if len(rest) == _CLF_COLUMNS - 1 else ""


def _virtual_host(before: list[str]) -> str:
    """The virtual host among the columns before the address; empty if there is none."""
    if len(before) == 1 and before[0][0].isalpha() and read_host(before[0]):
        return before[0]  # also a name without dots
    hosts = filter(_is_virtual_host, before)
    return next(
        (host for host in hosts if not is_internal(read_address(host) or "0.0.0.0") or ":" in host), ""
    )


def _is_virtual_host(column: str) -> bool:
    return column not in MISSING and read_host(column) is not None and any(mark in column for mark in ".:")
