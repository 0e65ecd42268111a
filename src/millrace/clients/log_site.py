"""Infers the host that an access log belongs to."""

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from urllib.parse import urlsplit

from millrace.clients.access_log import AccessLog
from millrace.clients.logs.log_entry import UnreadableLineError
from millrace.clients.logs.log_formats_file import LogFormats


def infer_site(lines: Iterable[bytes], formats: LogFormats | None = None) -> str | None:
    """The host whose pages are both requested and used as referrers in these lines.

    A log without virtual hosts does not contain its own host. But visitors follow links within a site,
    so its own pages occur both as paths and as referrers, while pages of other sites occur only as
    referrers. The most frequent such host wins (alphabetically first if equal), in lower case, without
    port and `www.`; None if there is none. The path `/` does not count, since every site has it.

    Args:
        lines: of an access log.
        formats: of JSON logs.
    """
    log, entries = AccessLog(formats or LogFormats()), []
    for line in lines:
        with suppress(UnreadableLineError):
            entry = log.entry(line)
            if entry is not None:
                entries.append((entry.referrer, entry.target.partition("?")[0]))
    requested = {path for _, path in entries} - {"/"}
    hosts: Counter[str] = Counter()
    for referrer, _ in entries:
        host, path = _host_and_path(referrer)
        if host and path in requested:
            hosts[host] += 1
    return min(hosts, key=lambda host: (-hosts[host], host), default=None)


def _host_and_path(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
        return (parts.hostname or "").lower().removeprefix("www."), parts.path
    except ValueError:
        return "", ""
