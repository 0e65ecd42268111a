"""Access logs of AWS load balancers, application and classic: positional columns, requests with their URL."""

import re

from millrace.clients.logs.log_address import client_address
from millrace.clients.logs.log_entry import (
    LogEntry,
    UnreadableLineError,
    present,
    read_number,
    read_request,
    unescape,
)
from millrace.clients.logs.log_time import log_time

NOTATION = "load balancer log"
_QUOTED = r'"((?:[^"\\]|\\.)*)'
_START = re.compile(r"(?:(?:https?|h2|grpcs?|wss?) )?\d{4}-\d\d-\d\dT[\d:.]+Z \S+ \S+:\d+ ")
_LINE = re.compile(
    r"(?:[a-z0-9]+ )?(\S+Z) \S+ (\S+) \S+ (?:-?[\d.]+ ){3}(\d+|-) (?:\d+|-) (?:\d+|-) (\d+|-) "
    + _QUOTED
    + r'"(?: '
    + _QUOTED
    + r'(?:"|\\?$))?(?:\s|$)',
    re.DOTALL,
)
_DEFAULT_PORT = re.compile(r"(https?://[^/?#]*?):(443|80)(?=[/?#]|$)")
_PORTS = {"https": "443", "http": "80"}


def is_load_balancer_line(text: str) -> bool:
    """Whether a line begins as an entry of a load balancer's log does."""
    return _START.match(text) is not None


def load_balancer_entry(text: str) -> LogEntry:
    """Read a line. Such logs have neither referrers nor users; old ones have no user agents.

    Raises:
        UnreadableLineError: if it is no entry (a cut-off user agent is accepted).
    """
    found = _LINE.match(text)
    if found is None:
        raise UnreadableLineError("not in the format of load balancers' logs")
    method, target = read_request(found[5])
    return LogEntry(
        notation=NOTATION,
        address=client_address(found[2]),
        time=log_time(found[1]),
        method=method,
        target=_DEFAULT_PORT.sub(_without_default_port, target, count=1),
        status=read_number(found[3]),
        size=read_number(found[4]),
        agent=present(unescape(found[6] or "")),
    )


def _without_default_port(found: re.Match[str]) -> str:
    scheme = found[1].partition(":")[0]
    return found[1] if _PORTS[scheme] == found[2] else found[0]
