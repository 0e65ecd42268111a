"""Origins of visits: campaigns, search engines, social sites and emails."""

from dataclasses import dataclass, field
from random import Random


@dataclass(frozen=True)
class Origin:
    """How a visit reached the shop.

    Attributes:
        referrer: URL of the previous page; empty if there was none.
        utm: campaign parameters of the landing URL, by their names in Segment's `context.campaign`
            (`name` is `utm_campaign`).
        click_id: parameter of an advertising network, e.g. `gclid`; its value is random per visit.
    """

    referrer: str = ""
    utm: dict[str, str] = field(default_factory=dict)
    click_id: str = ""


def _utm(source: str, medium: str, name: str, **more: str) -> dict[str, str]:
    return {"source": source, "medium": medium, "name": name, **more}


DIRECT = Origin()

_WEIGHTED = [
    (DIRECT, 30),
    (Origin("https://www.google.com/"), 17),
    (Origin("https://www.google.de/"), 5),
    (Origin("https://www.bing.com/"), 3),
    (Origin("https://duckduckgo.com/"), 2),
    (
        Origin(
            "https://www.google.com/", _utm("google", "cpc", "brand", term="alder fern", id="1203"), "gclid"
        ),
        6,
    ),
    (
        Origin(
            "https://www.google.com/",
            _utm("google", "cpc", "spring-sale", term="garden bench", content="text-a"),
            "gclid",
        ),
        5,
    ),
    (Origin("https://www.google.com/", {}, "gclid"), 2),  # auto-tagging: a click id without a campaign
    (
        Origin(
            "https://www.bing.com/",
            _utm("bing", "cpc", "brand", term="linen curtain", content="text-b"),
            "msclkid",
        ),
        2,
    ),
    (Origin("", _utm("newsletter", "email", "spring-sale", content="header")), 5),
    (Origin("https://mail.google.com/", _utm("newsletter", "email", "new-linen")), 2),
    (Origin("", _utm("crm", "email", "abandoned-cart")), 1),
    (Origin("https://l.facebook.com/", _utm("facebook", "paid_social", "lamp-week"), "fbclid"), 4),
    (Origin("https://l.instagram.com/", _utm("instagram", "paid_social", "new-linen"), "fbclid"), 3),
    (Origin("https://www.instagram.com/"), 3),
    (Origin("https://www.pinterest.com/pin/51022/"), 2),
    (Origin("https://t.co/kq1x"), 1),
    (Origin("https://homestories.example/ten-quiet-lamps"), 2),
    (Origin("https://gardeners-forum.example/t/planters"), 1),
    (Origin("https://chatgpt.com/"), 2),
    (Origin("https://www.perplexity.ai/"), 1),
    (Origin("https://homestories.example/podcast", _utm("homestories", "paid-audio", "lamp-week")), 1),
    (Origin("https://adnet.example/frame", _utm("adnet", "display", "spring-sale", content="300x250")), 2),
    (Origin("https://dealhunter.example/", _utm("dealhunter", "affiliate", "always-on")), 2),
]

_ORIGINS = [origin for origin, _ in _WEIGHTED]
_WEIGHTS = [weight for _, weight in _WEIGHTED]


def choose_origin(rng: Random, returning: bool) -> Origin:
    """Choose the origin of a visit; returning visitors often come directly."""
    if returning and rng.random() < 0.35:
        return DIRECT
    return rng.choices(_ORIGINS, _WEIGHTS)[0]


def landing_query(origin: Origin, rng: Random) -> str:
    """The query string of the landing URL, with `?`; empty if there are no parameters."""
    names = {"name": "campaign"}
    parts = [f"utm_{names.get(key, key)}={value.replace(' ', '+')}" for key, value in origin.utm.items()]
    if origin.click_id:
        parts.append(f"{origin.click_id}={rng.getrandbits(64):016x}")
    return "?" + "&".join(parts) if parts else ""
