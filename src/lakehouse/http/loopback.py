"""Addresses of this machine, and requests from it."""

from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

_OF_PROXIES = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")


def is_loopback(address: str) -> bool:
    """Whether an IP address is a loopback address; false for a host name."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def is_this_machine(address: str | None, headers: Mapping[str, str]) -> bool:
    """Whether a program on this machine sent a request: not a proxy, and no page of another site.

    Args:
        address: IP address of the sender.
        headers: of the request; names are looked up in lower case. A host name that is not local is that of a
            proxy, or of a site whose name resolves to this machine.
    """
    is_proxied = any(name in headers for name in _OF_PROXIES)
    host = _host(f"//{headers.get('host', '')}")
    return is_loopback(address or "") and not is_proxied and (host == "localhost" or is_loopback(host))


def is_local_origin(origin: str | None) -> bool:
    """Whether a request is of no web page, or of one of this machine.

    Args:
        origin: the `Origin` header, which browsers set; None without it.
    """
    host = None if origin is None else _host(origin)
    return host is None or host == "localhost" or is_loopback(host)


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:  # brackets without an IPv6 address
        return ""
