"""Bot detection: which visitors are bots, and since when."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from folds.rule_numbers import load_rule_numbers
from lakehouse.bundle_file import read_yaml
from lakehouse.timestamps import span_micros

USER_AGENT, RATE = "user_agent", "rate"
REASONS = (USER_AGENT, RATE)  # in order of precedence at the same time


class Bot(NamedTuple):
    """A visitor that was classified as a bot.

    Args:
        visitor_id: the visitor.
        reason: one of `REASONS`.
        since: time of the first event that shows it, in microseconds.
    """

    visitor_id: str
    reason: str
    since: int


@dataclass(frozen=True)
class BotRules:
    """The user agents of bots, and the event rate above which a visitor is a bot.

    Args:
        pattern: one regular expression, searched anywhere in a user agent.
        most_events: more events than this within the span make a visitor a bot.
        span: in microseconds; start included, end excluded.
    """

    pattern: str
    most_events: int
    span: int

    def is_bot(self, user_agent: str) -> bool:
        """Whether a user agent matches the pattern."""
        return _is_listed(self.pattern, user_agent)


def load_bot_rules(conf: Path) -> BotRules:
    """Read conf/bots.yml and conf/rules.yml."""
    patterns = read_yaml(conf / "bots.yml")["user_agents"]
    numbers = load_rule_numbers(conf)
    pattern = "(?i)" + "|".join(f"(?:{pattern})" for pattern in patterns)
    return BotRules(pattern, numbers.bot_events, span_micros(numbers.bot_span))


def find_bot(
    visitor: str,
    agents: Iterable[tuple[str | None, int]],
    times: Iterable[int],
    known: Bot | None,
    rules: BotRules,
) -> Bot | None:
    """Find the earliest evidence that a visitor is a bot; at the same time, the user agent comes first.

    Args:
        visitor: the visitor of the events.
        agents: user agent and time, in microseconds, of new events.
        times: of new events, and of all events less than the span away from one.
        known: the evidence so far; None if there is none.
        rules: the current rules.
    """
    found = [] if known is None else [known]
    named = [at for agent, at in agents if agent is not None and rules.is_bot(agent)]
    if named:
        found.append(Bot(visitor, USER_AGENT, min(named)))
    quick = too_quick_since(times, rules)
    if quick is not None:
        found.append(Bot(visitor, RATE, quick))
    return min(found, key=lambda bot: (bot.since, REASONS.index(bot.reason)), default=None)


def too_quick_since(times: Iterable[int], rules: BotRules) -> int | None:
    """Time of the first event that exceeds the limit within the span; None if there is none."""
    in_order = sorted(times)
    pairs = zip(in_order, in_order[rules.most_events :], strict=False)
    return next((last for first, last in pairs if last - first < rules.span), None)


@lru_cache(maxsize=10_000)
def _is_listed(pattern: str, user_agent: str) -> bool:
    return re.search(pattern, user_agent, re.ASCII) is not None
