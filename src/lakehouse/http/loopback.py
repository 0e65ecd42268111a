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
    """Whether this machine sent a request, by a program or a page: not a proxy, and no page of another site.

    Args:
        address: IP address of the sender.
        headers: of the request; names are looked up in lower case. A host name that is not local is that of a
            proxy, or of a site whose name resolves to this machine.
    """
    is_proxied = any(name in headers for name in _OF_PROXIES)
    is_direct = is_loopback(address or "") and not is_proxied and _is_local(f"//{headers.get('host', '')}")
    origin = headers.get("origin")
    return is_direct and (not is_of_other_origin(headers) if origin is None else _is_local(origin))


def is_of_other_origin(headers: Mapping[str, str]) -> bool:
    """Whether a browser sent a request for a page of another site, or of another host or port of this one.

    Browsers leave `Origin` out of some requests, as those of images, and tell this in `Sec-Fetch-Site`.
    """
    return headers.get("sec-fetch-site") in ("cross-site", "same-site")


def _is_local(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:  # brackets without an IPv6 address
        return False
    return host == "localhost" or is_loopback(host)
