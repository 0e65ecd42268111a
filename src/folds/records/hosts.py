"""Host and path of an address, normalized for rules, and the registrable domain of a host."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from ipaddress import IPv6Address
from urllib.parse import unquote

import idna
from publicsuffixlist import PublicSuffixList

MAX_HOST = 253  # characters of a name in the DNS

_ADDRESS = re.compile(
    r"\s*[a-z][a-z0-9+.-]*://(?:[^/?#]*@)?(\[[^][/?#@\s]*\]|[^][/?#:@\s]+)"
    r"(?::[^/?#@\s]*)?(/[^?#]*|(?=[?#]|\s*\Z))",
    re.IGNORECASE,
)
_IPV4 = re.compile(r"[0-9.]+")


def host_of(address: str) -> str | None:
    """The host of an address, as in `normal_host`; None if it has none."""
    return host_and_path(address)[0]


def host_and_path(address: str) -> tuple[str | None, str]:
    """The host of an address, as in `normal_host`, and its path."""
    found = _ADDRESS.match(address)
    return (normal_host(found[1]) or None, found[2]) if found else (None, "")


def normal_host(host: str) -> str:
    """A host as rules compare it: lower case, ASCII, without trailing dot and `www.`; may be empty.

    Args:
        host: without port. An IPv6 address is in brackets.
    """
    if host.startswith("[") and host.endswith("]"):
        return _normal_ipv6(host)
    if "%" in host or not host.isascii():
        host = _to_ascii(host)
    return host.lower().rstrip(".").removeprefix("www.")


def domains_of(host: str) -> Iterator[str]:
    """A host and its parent domains, longest first: a.b.c, b.c, c."""
    yield host
    while (dot := host.find(".")) >= 0:
        host = host[dot + 1 :]
        yield host


def registrable_domain(host: str) -> str:
    """The domain that someone registered, by the public suffix list: `b.co.uk` of `a.b.co.uk`.

    The host itself if it has none: an IP address, a public suffix, a single label.
    """
    return _registered(host) or host


def is_registrable(domain: str) -> bool:
    """Whether a domain can be registered, or is below one that can: not `com`, not `co.uk`."""
    return _registered(domain) is not None


def is_same_site(host: str | None, other: str | None) -> bool:
    """Whether two hosts have one registrable domain; a missing host is on no site."""
    return host is not None and other is not None and registrable_domain(host) == registrable_domain(other)


def _registered(host: str) -> str | None:
    return _look_up(host) if len(host) <= MAX_HOST else None


@lru_cache(maxsize=65_536)
def _look_up(host: str) -> str | None:
    if host.startswith("[") or _IPV4.fullmatch(host):
        return None
    return _suffixes().privatesuffix(host)


@cache
def _suffixes() -> PublicSuffixList:
    """The list of the installed package; read once in a process, without the network."""
    return PublicSuffixList()


@lru_cache(maxsize=4_096)
def _to_ascii(host: str) -> str:
    """The host with each label in Punycode that needs it (UTS 46); what a name may not have stays."""
    host = unquote(host)
    try:
        host = idna.uts46_remap(host, std3_rules=False)
    except idna.IDNAError:
        host = host.lower()
    return ".".join(_label_to_ascii(label) for label in host.split("."))


def _label_to_ascii(label: str) -> str:
    return label if label.isascii() else f"xn--{label.encode('punycode').decode('ascii')}"


def _normal_ipv6(host: str) -> str:
    """An IPv6 address in its shortest notation, in brackets; text that is none in lower case."""
    try:
        return f"[{IPv6Address(host.strip('[]')).compressed}]"
    except ValueError:
        return host.lower()
