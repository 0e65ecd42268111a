"""Which host an access log belongs to, when nobody says."""

from collections import Counter
from collections.abc import Iterable
from urllib.parse import urlsplit

from millrace.clients.access_log import referrer_and_path


def infer_site(lines: Iterable[bytes]) -> str | None:
    """The host whose pages are both requested in these lines and named there as referrers.

    A combined log doesn't say which host it was written for. But visitors move on inside a site, so
    its own pages turn up in both places, while a page of another site is only ever a referrer. The
    host that does so most often wins (the first in the alphabet of equals), in lower case, without
    port and `www.`; None if there is no such host. The path `/` is no evidence: every site has it.
    """
    entries = [entry for entry in map(referrer_and_path, lines) if entry is not None]
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
