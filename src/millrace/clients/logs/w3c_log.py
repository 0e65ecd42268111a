"""W3C extended log files, as IIS and CloudFront write them: columns named by a `#Fields` line."""

import re
from urllib.parse import unquote

from millrace.clients.logs.log_address import client_address, read_host
from millrace.clients.logs.log_entry import LogEntry, UnreadableLineError, present, read_number, read_user
from millrace.clients.logs.log_time import log_time

NOTATION = "W3C extended log"
_DIRECTIVE = re.compile(
    r"#(Version|Fields|Date|Software|Start-Date|End-Date|Remark|GMT-Offset)\s*:\s*(.*)", re.IGNORECASE
)
_COLUMN = re.compile(r'"((?:[^"]|"")*)"(?=\s|$)|(\S+)')
_PLUS = re.compile(r"\+(\+?)")
_FORWARDED = ("x-forwarded-for", "cs(x-forwarded-for)")
_HOSTS = ("x-host-header", "cs-host", "cs(host)")
"""Names of the column with the virtual host: of CloudFront, `cs(Host)` is the distribution's own name."""
_HTTPS = ("https", "wss")


class W3cLog:
    """Reads lines of a file, in order."""

    def __init__(self) -> None:
        self._fields: list[str] = []
        self._date = ""

    @property
    def has_fields(self) -> bool:
        """Whether a `#Fields` line has been read."""
        return bool(self._fields)

    def read_directive(self, text: str) -> bool:
        """Read a line that begins with `#`; whether it is a directive."""
        found = _DIRECTIVE.match(text)
        if found is None:
            return False
        if found[1].lower() == "fields":
            self._fields = found[2].lower().split()
        elif found[1].lower() == "date":
            self._date = found[2].partition(" ")[0]
        return True

    def entry(self, text: str) -> LogEntry:
        """Read a row.

        Raises:
            UnreadableLineError: if it has not the columns of `#Fields`, or not what a request needs.
        """
        is_tabbed = "\t" in text
        columns = _split(text, is_tabbed)
        # CloudFront may add columns at the end.
        if len(columns) < len(self._fields) or (len(columns) > len(self._fields) and not is_tabbed):
            raise UnreadableLineError("another number of columns than #Fields names")
        row = {name: present(column) for name, column in zip(self._fields, columns, strict=False)}
        scheme = row.get("cs-protocol", "").lower() in _HTTPS or row.get("s-port") == "443"
        host = next((found for name in _HOSTS if (found := read_host(row.get(name, "")))), None)
        return LogEntry(
            notation=NOTATION,
            address=_address(row),
            time=self._time(row),
            method=row.get("cs-method") or None,
            target=_target(row),
            status=read_number(row.get("sc-status", "")),
            size=read_number(row.get("sc-bytes", "")),
            referrer=row.get("cs(referer)", ""),
            agent=_agent(row.get("cs(user-agent)", ""), is_tabbed),
            user=read_user(row.get("cs-username", "")),
            host=host[0] if host else None,
            scheme="https" if scheme or (host and host[1] == "https") else "http",
        )

    def _time(self, row: dict[str, str]) -> str:
        date, time = row.get("date") or self._date, row.get("time", "")
        if not date or not time:
            raise UnreadableLineError("no date and time in #Fields")
        return log_time(f"{date} {time}")


def _split(text: str, is_tabbed: bool) -> list[str]:
    if is_tabbed:
        return [
            column[1:-1].replace('""', '"') if _is_quoted(column) else column for column in text.split("\t")
        ]
    return [
        (found[1] or "").replace('""', '"') if found[2] is None else found[2]
        for found in _COLUMN.finditer(text)
    ]


def _is_quoted(column: str) -> bool:
    return len(column) > 1 and column[0] == column[-1] == '"'


def _address(row: dict[str, str]) -> str:
    peer, forwarded = row.get("c-ip", ""), next(filter(None, map(row.get, _FORWARDED)), "")
    if not peer and not forwarded:
        raise UnreadableLineError("no c-ip in #Fields")
    return client_address(peer, forwarded)


def _target(row: dict[str, str]) -> str:
    stem, query = row.get("cs-uri-stem", ""), row.get("cs-uri-query", "")
    whole = row.get("cs-uri") or (f"{stem}?{query}" if query and "?" not in stem else stem)
    if not whole:
        raise UnreadableLineError("no cs-uri-stem in #Fields")
    return whole


def _agent(text: str, is_tabbed: bool) -> str:
    """The user agent: CloudFront writes blanks as `%20`, once as `%2520`; IIS as `+`, and a plus too."""
    if " " in text:
        return text
    if "+" in text and not is_tabbed:
        return _PLUS.sub(r" \1", text)
    once = unquote(text)
    return unquote(once) if "%20" in once else once
