"""Visitors: browsers and apps, some of one person, some with a wrong clock, some bots."""

from dataclasses import dataclass
from random import Random

_CHROME = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/144.0.0.0"
_SAFARI = "AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.3"
_DESKTOP = [
    f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {_CHROME} Safari/537.36",
    f"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) {_SAFARI} Safari/605.1.15",
    "Mozilla/5.0 (X11; Linux x86_64; rv:147.0) Gecko/20100101 Firefox/147.0",
]
_MOBILE = [
    f"Mozilla/5.0 (iPhone; CPU iPhone OS 18_3 like Mac OS X) {_SAFARI} Mobile/15E148 Safari/604.1",
    f"Mozilla/5.0 (Linux; Android 15; Pixel 9) {_CHROME} Mobile Safari/537.36",
]
_APP = "AlderFern/4.2 (iOS 18.3; iPhone16,2)"
_CRAWLERS = [
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
    "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",
]
_PLACES = [  # locale, time zone, currency
    ("de-DE", "Europe/Berlin", "EUR"),
    ("en-GB", "Europe/London", "GBP"),
    ("en-US", "America/New_York", "USD"),
    ("fr-FR", "Europe/Paris", "EUR"),
    ("nl-NL", "Europe/Amsterdam", "EUR"),
]
_PLACE_WEIGHTS = (40, 22, 20, 12, 6)
_REMEMBERED = 20_000


@dataclass(slots=True)
class Visitor:
    """A browser or app; a person may have two.

    Attributes:
        clock_error: seconds by which its clock is ahead of the exact time.
        last_seen: simulated second of the last step of the last visit.
    """

    anonymous_id: str
    user_agent: str
    locale: str
    timezone: str
    currency: str
    ip: str
    user_id: str | None = None
    is_app: bool = False
    is_known: bool = False
    """Whether this device has sent its `identify`."""
    clock_error: float = 0.0
    last_seen: float | None = None


def uuid(rng: Random) -> str:
    """A random id in the form of a UUID, from this generator."""
    digits = f"{rng.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


class Crowd:
    """The visitors so far; about half of all visits are by returning visitors."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._known: list[Visitor] = []

    def choose(self) -> Visitor:
        """Choose the visitor of the next visit."""
        rng = self._rng
        if self._known and rng.random() < 0.48:
            visitor = self._known[int(rng.random() * len(self._known))]
            if visitor.user_id and rng.random() < 0.04:
                return self._remember(self._new(visitor.user_id))
            return visitor
        return self._remember(self._new(None))

    def crawler(self) -> Visitor:
        """A bot that identifies itself in its user agent."""
        visitor = self._new(None)
        visitor.user_agent, visitor.clock_error = self._rng.choice(_CRAWLERS), 0.0
        return visitor

    def scraper(self) -> Visitor:
        """A bot with a browser's user agent, which is recognised by its rate."""
        visitor = self._new(None)
        visitor.user_agent, visitor.clock_error = _DESKTOP[2], 0.0
        return visitor

    def _new(self, user_id: str | None) -> Visitor:
        rng = self._rng
        locale, timezone, currency = rng.choices(_PLACES, _PLACE_WEIGHTS)[0]
        is_app = rng.random() < 0.05
        agents = _DESKTOP if rng.random() < 0.55 else _MOBILE
        return Visitor(
            anonymous_id=uuid(rng),
            user_agent=_APP if is_app else agents[int(rng.random() * len(agents))],
            locale=locale,
            timezone=timezone,
            currency=currency,
            # From the documentation ranges of RFC 5737.
            ip=f"{rng.choice(('192.0.2', '198.51.100', '203.0.113'))}.{rng.randrange(256)}",
            user_id=user_id,
            is_app=is_app,
            clock_error=_clock_error(rng),
        )

    def _remember(self, visitor: Visitor) -> Visitor:
        if len(self._known) < _REMEMBERED:
            self._known.append(visitor)
        else:
            self._known[int(self._rng.random() * _REMEMBERED)] = visitor
        return visitor


def _clock_error(rng: Random) -> float:
    """A clock error (s): about a second for most, minutes to a year for one clock in 25."""
    if rng.random() < 0.04:
        return rng.choice((-1, 1)) * rng.choice((300.0, 3600.0, 7200.0, 86_400.0, 31_536_000.0))
    return rng.gauss(0, 0.4)
