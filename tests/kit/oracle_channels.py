"""Test oracle for channels: a naive list of conditions."""

import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import unquote

from kit.oracle_hosts import host_of, is_same_site
from kit.oracle_sites import is_excluded, kind_of_name, site_of

_PAID = re.compile(".*cp.*|ppc|retargeting|paid.*")
_SEARCH_IDS = ("gclid", "gbraid", "wbraid", "msclkid")
_SOCIAL_IDS = ("ttclid", "twclid", "li_fat_id")
_SOCIAL_MEDIA = ("social", "social-network", "social-media", "sm", "social network", "social media")
CLICK_IDS = (*_SEARCH_IDS, *_SOCIAL_IDS, "fbclid")


def parameter_of(url: str | None, name: str) -> str | None:
    """The first parameter of a name that is not blank: of the query, else of the fragment; else None."""
    for key, value in _parameters(url or ""):
        if key == name and (decoded := _decoded(value)):
            return decoded
    return None


def _parameters(url: str) -> Iterator[tuple[str, str]]:
    """Names in lower case and values as they stand: of the query, then of the fragment."""
    before, _, fragment = url.partition("#")
    route, mark, after = fragment.partition("?")
    is_route = mark and (route.startswith(("/", "!/")) or "=" not in route)
    for part in (before.partition("?")[2], after if is_route else fragment):
        for pair in re.sub("&(amp;)+", "&", part, flags=re.IGNORECASE).split("&"):
            key, _, value = pair.partition("=")
            yield unquote(key).lower(), value


def _decoded(value: str) -> str:
    """A value with its escapes as UTF-8 and `+` as a blank, trimmed; as it stands if that is no UTF-8."""
    plain = value.replace("+", " ").encode("utf-8", "surrogatepass")
    octets = re.sub(rb"%([0-9a-fA-F]{2})", lambda escape: bytes([int(escape[1], 16)]), plain)
    try:
        return octets.decode("utf-8").strip()
    except UnicodeDecodeError:
        return value.strip()


def click_id_of(url: str | None) -> tuple[str | None, str | None]:
    """The click id with the highest precedence, and its parameter name."""
    for name in CLICK_IDS:
        value = parameter_of(url, name)
        if value:
            return value, name
    return None, None


@lru_cache(maxsize=10_000)
def _come_from(referrer: str | None) -> tuple[str | None, str | None]:
    """Host and kind of site of a referrer; None for both if it is excluded."""
    host = host_of(referrer)
    if host is None:
        return None, None
    rest = (referrer or "").split("?")[0].split("#")[0].partition("://")[2]
    path = "/" + rest.partition("/")[2] if "/" in rest else ""
    return (None, None) if is_excluded(host, path) else (host, site_of(host, path))


@lru_cache(maxsize=10_000)
def _named(source: str) -> str | None:
    """The kind of site of a source name."""
    if (kind := kind_of_name(source)) is not None:
        return kind
    name, _, path = source.partition("/")
    host = host_of(f"any://{name}") or ""
    return site_of(host, "/" + path) if "." in host else None


def channel_of(campaign: dict[str, str | None], url: str | None, referrer: str | None) -> str:
    """The channel of the first matching rule: GA4's default channel group, with our additions.

    Args:
        campaign: source, medium, name and id.
        url: URL of the page.
        referrer: URL of the previous page.
    """
    source, medium = ((campaign[field] or "").strip().lower() for field in ("source", "medium"))
    site, is_paid = _named(source), bool(_PAID.fullmatch(medium))
    host, other = _come_from(referrer)
    is_other = host is not None and not is_same_site(host, host_of(url))
    other = other if is_other else None
    email = ("email", "e-mail", "e_mail", "e mail", "newsletter")
    cases = [
        ("Paid Search", click_id_of(url)[1] in _SEARCH_IDS),
        ("Paid Social", click_id_of(url)[1] in _SOCIAL_IDS),
        ("Paid Search", site == "search" and is_paid),
        ("Paid Social", site == "social" and is_paid),
        ("Display", medium in ("display", "banner", "expandable", "interstitial", "cpm")),
        ("Paid Other", is_paid),
        ("Email", medium in email or source in email),
        ("Affiliates", medium in ("affiliate", "affiliates")),
        ("AI Assistant", site == "ai" or medium == "ai-assistant"),
        ("Organic Social", site == "social" or medium in _SOCIAL_MEDIA),
        ("Organic Search", site == "search" or medium == "organic"),
        ("Email", site == "email"),
        ("Display", site == "ads"),
        ("Affiliates", site == "affiliates"),
        ("Referral", any(campaign[field] for field in ("source", "medium", "name", "id"))),
        ("AI Assistant", other == "ai"),
        ("Email", other == "email"),
        ("Display", other == "ads"),
        ("Affiliates", other == "affiliates"),
        ("Organic Social", other == "social"),
        ("Organic Search", other == "search"),
        ("Referral", is_other),
        ("Direct", True),
    ]
    return next(channel for channel, holds in cases if holds)


def is_internal(url: str | None, referrer: str | None) -> bool:
    """Whether a referrer is excluded or of the site itself: it has a host, and brings no channel."""
    page = (url or "").split("?")[0].split("#")[0]
    nothing = dict.fromkeys(("source", "medium", "name", "id"))
    return host_of(referrer) is not None and channel_of(nothing, page, referrer) == "Direct"
