"""Bots: by user agent, or by more than 100 events in any 60 s."""

from datetime import datetime, timedelta

import pytest

from folds.visitors.bots import Bot, find_bot, load_bot_rules, too_quick_since
from kit.records import NOON
from lakehouse.settings import load_settings
from lakehouse.timestamps import to_micros

RULES = load_bot_rules(load_settings().conf)
SECOND, TICK = timedelta(seconds=1), timedelta(microseconds=1)
HALF_SECOND_STEPS = [NOON + 0.5 * SECOND * number for number in range(100)]

BOTS = [
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
    "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",
    "Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; GPTBot/1.2; +https://openai.com/gptbot",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 HeadlessChrome/120.0.0.0 Safari/537.36",
    "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
    "msnbot-media/1.1 (+http://search.msn.com/msnbot.htm)",
    "Mozilla/5.0 (compatible; archive.org_bot +http://www.archive.org/details/archive.org_bot)",
    "Tiny Tiny RSS/1.11 (http://tt-rss.org/)",
    "python-requests/2.32.3",
    "CURL/8.5.0",
    "Wget/1.14 (linux-gnu)",
]
NOT_BOTS = [
    "",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/144.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.3 Safari/605",
    "Mozilla/5.0 (Linux; Android 9; CUBOT_X19) AppleWebKit/537.36 Chrome/74.0.3729.136 Mobile Safari/537.36",
    "Mozilla/5.0 (Linux; Android 12; CUBOT) AppleWebKit/537.36 Chrome/99.0 Mobile Safari/537.36",
    "Opera/9.80 (X11; Linux x86_64) Presto/2.12.388 Version/12.16",
    "Mozilla/5.0 (X11; Linux x86_64; rv:24.0) Gecko/20100101 Thunderbird/24.2.0",
    "AlderFern/4.2 (iOS 18.3; iPhone16,2)",
    "Dalvik/2.1.0 (Linux; U; Android 14; Pixel 8) okhttp/4.12.0",
]


@pytest.mark.parametrize("agent", BOTS)
def test_declared_bot_user_agent_is_bot(agent: str) -> None:
    assert RULES.is_bot(agent)


@pytest.mark.parametrize("agent", NOT_BOTS)
def test_browser_or_app_user_agent_is_not_bot(agent: str) -> None:
    assert not RULES.is_bot(agent)


@pytest.mark.parametrize(
    ("times", "since"),
    [
        ([], None),
        ([NOON] * 100, None),
        ([NOON] * 101, NOON),
        ([*HALF_SECOND_STEPS, NOON + 60 * SECOND], None),
        ([*HALF_SECOND_STEPS, NOON + 60 * SECOND - TICK], NOON + 60 * SECOND - TICK),
        ([*HALF_SECOND_STEPS[::-1], NOON + 55 * SECOND, NOON + 54 * SECOND], NOON + 54 * SECOND),
        ([NOON - 20 * SECOND, *HALF_SECOND_STEPS[1:], NOON + 60 * SECOND], None),
    ],
    ids=[
        "no events",
        "100 simultaneous events are not a bot",
        "101 simultaneous events are a bot",
        "the 101st 60 s after the first is not a bot",
        "the 101st just under 60 s after the first is a bot",
        "a bot from the 101st on, in any order",
        "101 events over 80 s are not a bot",
    ],
)
def test_visitor_is_rate_bot_from_101st_event_within_60_seconds(
    times: list[datetime], since: datetime | None
) -> None:
    wanted = None if since is None else to_micros(since)
    assert too_quick_since(map(to_micros, times), RULES) == wanted


@pytest.mark.parametrize(
    ("known", "agents", "reason"),
    [
        (Bot("v", "rate", 5), [("curl/8", 5)], "user_agent"),
        (Bot("v", "rate", 5), [("curl/8", 6)], "rate"),
        (Bot("v", "user_agent", 5), [("curl/8", 4)], "user_agent"),
        (None, [("Opera/9.80", 4), (None, 3)], None),
    ],
    ids=["user agent wins at the same time", "earlier rate wins", "earlier user agent wins", "no evidence"],
)
def test_earliest_bot_evidence_decides_reason(
    known: Bot | None, agents: list[tuple[str | None, int]], reason: str | None
) -> None:
    found = find_bot("v", agents, [], known, RULES)
    assert (found and found.reason) == reason
