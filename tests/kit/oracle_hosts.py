"""Test oracle for hosts: their normal form, and the site that they belong to.

Reads the public suffix list that `src/` reads, but shares no code with it.
"""

import re
from contextlib import suppress
from functools import lru_cache
from importlib.resources import files
from ipaddress import ip_address
from unicodedata import normalize
from urllib.parse import unquote

_LIST = files("publicsuffixlist").joinpath("public_suffix_list.dat").read_text(encoding="utf-8")


def _ascii(label: str) -> str:
    """A label in Punycode if it needs it; the standard library's IDNA 2003 would make `ss` of a sharp s."""
    with suppress(UnicodeError):
        if "\u00df" not in label:
            return label.encode("idna").decode()
    if label.isascii():
        return label
    return "xn--" + normalize("NFKC", label).lower().encode("punycode").decode()


_RULES = {
    ("!" if rule.startswith("!") else "") + ".".join(map(_ascii, rule.lstrip("!").split(".")))
    for line in _LIST.splitlines()
    if (rule := line.strip()) and not rule.startswith("//")
}


def authority_of(address: str | None) -> str | None:
    """The part of a URL between `//` and its path, without user and password; None if there is none."""
    scheme, there, rest = (address or "").lstrip().partition("://")
    if not there or not re.fullmatch("[a-zA-Z][a-zA-Z0-9+.-]*", scheme):
        return None
    authority = re.split("[/?#]", rest.rstrip())[0].split("@")[-1]
    return None if re.search(r"\s", authority) else authority


@lru_cache(maxsize=10_000)
def host_of(address: str | None) -> str | None:
    """The host of a URL: lower case, ASCII, without port, trailing dots and `www.`."""
    authority = authority_of(address)
    if authority is None:
        return None
    if bracketed := re.fullmatch(r"\[([^][]*)\](:.*)?", authority, re.DOTALL):
        inside = bracketed[1]
        return f"[{ip_address(inside)}]" if _is_ip(inside) else f"[{inside.lower()}]"
    if re.search(r"[][]", authority.split(":")[0]):
        return None
    labels = re.split("[.\u3002\uff0e\uff61]", unquote(authority.split(":")[0]))
    host = ".".join(_ascii(label) for label in labels).lower().rstrip(".")
    return host.removeprefix("www.") or None


@lru_cache(maxsize=100_000)
def registered_domain(host: str) -> str | None:
    """The longest public suffix that is part of a host, and one label more; None if there is none."""
    labels = host.split(".")
    is_address = re.fullmatch(r"[\d.]+", host) or host.startswith("[") or _is_ip(host)
    if "" in labels or is_address or len(host) > 253:
        return None
    suffix = 1
    for length in range(1, len(labels) + 1):
        name = ".".join(labels[-length:])
        if f"!{name}" in _RULES:
            return name
        wildcard = ".".join(["*", *labels[-length:][1:]])
        if name in _RULES or wildcard in _RULES or f"*.{name}" in _RULES:
            suffix = length
    return ".".join(labels[-suffix - 1 :]) if len(labels) > suffix else None


def is_same_site(host: str | None, other: str | None) -> bool:
    """Whether two hosts are equal, or have one registrable domain."""
    if host is None or other is None:
        return False
    return host == other or registered_domain(host) == registered_domain(other) is not None


def _is_ip(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
