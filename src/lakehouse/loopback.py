"""Addresses of this machine."""

from ipaddress import ip_address


def is_loopback(address: str) -> bool:
    """Whether an IP address is a loopback address; false for a host name."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False
