"""Test oracle for device and system of a user agent, with the shipped custom dimensions."""

import json

from ua_parser import parse_os

_TV = ("SmartTV", "SMART-TV", "AppleTV", "GoogleTV", "HbbTV", "BRAVIA", "CrKey", "Roku")


def device_of(agent: str) -> str:
    """phone, tablet, desktop, tv or other; the samples of the tests have no other words for televisions."""
    if any(word in agent for word in _TV):
        return "tv"
    is_tablet = "iPad" in agent or "Tablet" in agent
    if not is_tablet and any(word in agent for word in ("iPhone", "iPod", "Mobi", "Windows Phone")):
        return "phone"
    if is_tablet or any(word in agent for word in ("Android", "Kindle", "Silk", "PlayBook")):
        return "tablet"
    if any(word in agent for word in ("Windows NT", "Macintosh", "X11", "CrOS")):
        return "desktop"
    return "other"


def dimensions_of(agent: str | None) -> str | None:
    """The column custom_dimensions of an event."""
    if not agent:
        return None
    found = {"device": device_of(agent[:512])}
    system = parse_os(agent[:512])
    if system is not None:
        found["system"] = system.family
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False)
