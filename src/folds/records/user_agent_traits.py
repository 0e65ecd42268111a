"""Device, system and browser of a user agent, by ua-parser and its lists."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache

TRAITS = ("device", "system", "browser")

_MAX_READ = 512  # characters
_PHONES = re.compile(r"iPhone|iPod|Mobi|Windows Phone")
_TABLETS = re.compile(r"iPad|Tablet|Android|Kindle|Silk|PlayBook")
_TVS = re.compile(
    r"\bTV\b|SmartTV|SMART-TV|AppleTV|GoogleTV|HbbTV|BRAVIA|CrKey|Roku|AFT[A-Z]|Tizen .*TV|Web0S"
)
_DESKTOPS = re.compile(r"Windows NT|Macintosh|X11|CrOS")


@lru_cache(10_000)
def read_user_agent(user_agent: str) -> Mapping[str, str]:
    """Device, system and browser, of those that are known.

    The device follows browsers' own rule: `Mobi` stands for a phone, and Android without it for a tablet
    (https://developer.mozilla.org/docs/Web/HTTP/Guides/Browser_detection_using_the_user_agent). An iPad that
    asks for desktop pages, as iPads do by default, says that it is a Macintosh.

    Args:
        user_agent: as sent; its first 512 characters are read.
    """
    shown = user_agent[:_MAX_READ]
    found = _parser()
    system, browser = found.parse_os(shown), found.parse_user_agent(shown)
    traits = {"device": _device(shown)}
    if system is not None:
        traits["system"] = system.family
    if browser is not None:
        traits["browser"] = browser.family
    return traits


def _device(user_agent: str) -> str:
    if _TVS.search(user_agent):
        return "tv"
    if "iPad" not in user_agent and "Tablet" not in user_agent and _PHONES.search(user_agent):
        return "phone"
    if _TABLETS.search(user_agent):
        return "tablet"
    return "desktop" if _DESKTOPS.search(user_agent) else "other"


@cache
def _parser():  # type: ignore[no-untyped-def]
    """The parser of ua-parser, without its patterns of device models: they take a second to compile."""
    from ua_parser import Parser
    from ua_parser.loaders import load_builtins
    from ua_parser.regex import Resolver

    browsers, systems, _ = load_builtins()
    return Parser(Resolver((browsers, systems, [])))
