"""Addresses of clients and names of hosts, as access logs write them."""

import re
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|\w(?:[\w.-]*\w)?)\.?(?::(\d{1,5}))?")
_INTERNAL = [
    *map(ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "127.0.0.0/8")),
    *map(ip_network, ("169.254.0.0/16", "::1/128", "fc00::/7", "fe80::/10")),
]
"""Networks of proxies and load balancers. Not `is_private`, which includes addresses for documentation."""
_HTTPS_PORT = "443"


@lru_cache(maxsize=65_536)
def read_address(text: str) -> str | None:
    """An IP address in its shortest form, without brackets and port; None for other text.

    IPv4 addresses that are written as IPv6 (`::ffff:192.0.2.1`) are IPv4.
    """
    if text.startswith("["):
        text, _, port = text[1:].partition("]")
        if port and not (port[0] == ":" and port[1:].isdigit()):
            return None
    elif text.count(":") == 1:
        text, _, port = text.partition(":")
        if not port.isdigit():
            return None
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def first_address(text: str) -> str | None:
    """The first IP address of a list with commas, as proxies forward it; None if there is none."""
    if "," not in text:
        return read_address(text.strip(' "'))
    return next(filter(None, (read_address(part.strip(' "')) for part in text.split(","))), None)


def client_address(text: str, forwarded: str = "") -> str:
    """The client's address: the first of a list, without port; a name as it stands, without port.

    Args:
        text: the address column.
        forwarded: addresses that a proxy reports. They count if the address is of an internal network, so
            that of a proxy, or is missing: clients can send such a list, too.
    """
    address = first_address(text)
    if forwarded and (text in ("", "-") or (address and is_internal(address))):
        address = first_address(forwarded) or address
    if address:
        return address
    name, _, port = text.rpartition(":")
    return name if name and port.isdigit() else text or "-"


def read_host(text: str) -> tuple[str, str] | None:
    """Host, in lower case without port, and scheme; None if the text is no host.

    The port is left out, since servers behind a proxy write their own; 443 makes the scheme `https`.
    """
    found = _HOST.fullmatch(text)
    if found is None or not any(map(str.isalnum, text)):
        return None
    return found[1].lower(), "https" if found[2] == _HTTPS_PORT else "http"


@lru_cache(maxsize=65_536)
def is_internal(address: str) -> bool:
    """Whether an IP address, as `read_address` writes it, is of an internal network."""
    ip = ip_address(address)
    return any(ip in network for network in _INTERNAL if network.version == ip.version)
