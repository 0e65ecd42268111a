"""Bots: by user agent, or by more than 100 events in any 60 s."""

from datetime import datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folds.visitors.bots import Bot, Sender, find_bot, load_bot_rules, too_quick_since
from folds.visitors.user_agents import NO_USER_AGENT
from kit.records import NOON
from lakehouse.settings import load_settings
from lakehouse.timestamps import to_micros

RULES = load_bot_rules(load_settings().conf)
SECOND, TICK = timedelta(seconds=1), timedelta(microseconds=1)
HALF_SECOND_STEPS = [NOON + 0.5 * SECOND * number for number in range(100)]


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
    ("known", "senders", "found"),
    [
        (Bot("v", "rate", 5), [("curl/8", None, 5)], Bot("v", "user_agent", 5, "^(?:lib)?curl")),
        (Bot("v", "rate", 5), [("curl/8", None, 6)], Bot("v", "rate", 5)),
        (
            Bot("v", "user_agent", 5, "spider"),
            [("curl/8", None, 4)],
            Bot("v", "user_agent", 4, "^(?:lib)?curl"),
        ),
        (None, [("Opera/9.80", None, 4), (None, None, 3)], None),
        (None, [(None, "millrace-access-log", 3)], Bot("v", "user_agent", 3, NO_USER_AGENT)),
    ],
    ids=[
        "user agent wins at the same time",
        "earlier rate wins",
        "earlier user agent wins",
        "no evidence",
        "an access log's event without a user agent",
    ],
)
def test_earliest_bot_evidence_decides_reason(
    known: Bot | None, senders: list[tuple[str | None, str | None, int]], found: Bot | None
) -> None:
    assert find_bot("v", [Sender(*each) for each in senders], [], known, RULES) == found


_SENDERS = st.builds(
    Sender,
    st.sampled_from([None, "-", "curl/8", "Googlebot/2.1", "Opera/9.80", "Scrapy"]),
    st.sampled_from([None, "millrace-access-log", "analytics.js"]),
    st.integers(0, 3),
)


@given(st.lists(_SENDERS, max_size=6), st.integers(0, 6), st.randoms(use_true_random=False))
def test_bot_depends_neither_on_order_nor_on_batches(senders: list[Sender], cut: int, random: Random) -> None:
    whole = find_bot("v", senders, [], None, RULES)
    mixed = senders + senders[:2]  # with copies
    random.shuffle(mixed)
    first = find_bot("v", mixed[:cut], [], None, RULES)
    assert find_bot("v", mixed[cut:], [], first, RULES) == whole
