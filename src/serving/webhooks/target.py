"""Checks which URLs may receive deliveries."""

from collections.abc import Collection
from urllib.parse import urlsplit

from lakehouse.errors import MillraceError
from lakehouse.http.loopback import is_loopback

_MOST_CHARACTERS = 2000


def check_target(url: str, hosts: Collection[str], *, is_local: bool) -> None:
    """Check a URL: HTTPS to an allowed host, or this machine if registered from it or allowed.

    Args:
        url: URL to receive deliveries.
        hosts: allowed hosts, in lower case; may include this machine.
        is_local: whether the URL is registered from this machine.

    Raises:
        MillraceError: if the URL is not allowed.
    """
    try:
        parts = urlsplit(url)
        host, _ = (parts.hostname or "").lower(), parts.port
    except ValueError:
        host = ""
    if (
        not host
        or len(url) > _MOST_CHARACTERS
        or any(each.isspace() or not each.isprintable() for each in url)
    ):
        raise MillraceError("url is no URL", "As an example: https://hooks.example.com/orders")
    if parts.username is not None or parts.fragment:
        raise MillraceError("url has a user or a fragment", "Deliveries are signed: check the signature")
    if is_of_this_machine(url):
        if parts.scheme not in ("http", "https"):
            raise MillraceError(f"{parts.scheme} is no scheme of webhooks", "Use http or https")
        if is_local:
            return
    elif parts.scheme != "https":
        raise MillraceError("url is not https", "Without TLS a webhook may go to this machine only")
    if host not in hosts:
        raise MillraceError(
            f"webhooks may not be sent to {host}", "An operator may add it to the setting webhook_hosts"
        )


def is_of_this_machine(url: str) -> bool:
    """Whether a URL leads to this machine."""
    host = (urlsplit(url).hostname or "").lower()
    return host == "localhost" or is_loopback(host)


def hosts_of(setting: str | None) -> frozenset[str]:
    """The hosts of the setting `webhook_hosts`."""
    return frozenset(host.strip().lower() for host in (setting or "").split(",") if host.strip())
