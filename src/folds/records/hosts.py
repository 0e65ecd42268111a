"""Host and path of an address, normalized for rules."""

import re
from collections.abc import Iterator

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://(?:[^/?#]*@)?([^/?#:@]+)(?::[^/?#]*)?([^?#]*)", re.IGNORECASE)
_SUFFIX = re.compile(r"(?:com?|net|org|edu|gov?|gob|ac|ne|or)\.[a-z]{2}")


def host_of(address: str) -> str | None:
    """The host of an address: lower case, without port and `www.`; None if it has none."""
    return host_and_path(address)[0]


def host_and_path(address: str) -> tuple[str | None, str]:
    """The host of an address, as in `host_of`, and its path."""
    found = _ADDRESS.match(address)
    return (found[1].lower().removeprefix("www.") or None, found[2]) if found else (None, "")


def domains_of(host: str) -> Iterator[str]:
    """A host and its parent domains, longest first: a.b.c, b.c, c."""
    yield host
    while (dot := host.find(".")) >= 0:
        host = host[dot + 1 :]
        yield host


def is_registrable(domain: str) -> bool:
    """Whether a domain can be registered, or is below one that can: not `com`, not `co.uk`.

    Suffixes with two labels are recognised only if they follow the usual pattern.
    """
    return "." in domain and _SUFFIX.fullmatch(domain) is None
