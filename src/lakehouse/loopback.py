"""Addresses of this machine."""

from ipaddress import ip_address


def is_loopback(address: str) -> bool:
    """Whether an IP address is of this machine alone; false for a name."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False
