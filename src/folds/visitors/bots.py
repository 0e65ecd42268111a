"""Bot detection: which visitors are bots, and since when."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from folds.rule_numbers import load_rule_numbers
from folds.visitors.user_agents import AgentRules, load_agent_rules
from lakehouse.timestamps import span_micros

USER_AGENT, RATE = "user_agent", "rate"
REASONS = (USER_AGENT, RATE)  # in order of precedence at the same time


class Bot(NamedTuple):
    """A visitor that was classified as a bot.

    Args:
        visitor_id: the visitor.
        reason: one of `REASONS`.
        since: time of the first event that shows it, in microseconds.
        matched: pattern or name that the user agent of that event matches; None for the rate.
    """

    visitor_id: str
    reason: str
    since: int
    matched: str | None = None


class Sender(NamedTuple):
    """What an event says about the program that sent it.

    Args:
        user_agent: its user agent.
        library: its client library, `context.library.name`.
        at: event time, in microseconds.
    """

    user_agent: str | None
    library: str | None
    at: int


@dataclass(frozen=True)
class BotRules:
    """The user agents of bots, and the event rate above which a visitor is a bot.

    Args:
        agents: what user agents of bots look like.
        most_events: more events than this within the span make a visitor a bot.
        span: in microseconds; start included, end excluded.
    """

    agents: AgentRules
    most_events: int
    span: int


def load_bot_rules(conf: Path) -> BotRules:
    """Read conf/bots.yml, conf/crawlers.yml and conf/rules.yml.

    Raises:
        MillraceError: if one of them is wrong.
    """
    numbers = load_rule_numbers(conf)
    return BotRules(load_agent_rules(conf), numbers.bot_events, span_micros(numbers.bot_span))


def find_bot(
    visitor: str, senders: Iterable[Sender], times: Iterable[int], known: Bot | None, rules: BotRules
) -> Bot | None:
    """Find the earliest evidence that a visitor is a bot; at the same time, the user agent comes first.

    Args:
        visitor: the visitor of the events.
        senders: of new events.
        times: of new events, and of all events less than the span away from one, in microseconds.
        known: the evidence so far; None if there is none.
        rules: the current rules.
    """
    found = [] if known is None else [known]
    for sender in senders:
        matched = rules.agents.matched_by(sender.user_agent, sender.library)
        if matched is not None:
            found.append(Bot(visitor, USER_AGENT, sender.at, matched))
    quick = too_quick_since(times, rules)
    if quick is not None:
        found.append(Bot(visitor, RATE, quick))
    return min(found, key=_earliest, default=None)


def _earliest(bot: Bot) -> tuple[int, int, str]:
    """By time, then reason, then what matched, so that the order of events does not matter."""
    return bot.since, REASONS.index(bot.reason), bot.matched or ""


def too_quick_since(times: Iterable[int], rules: BotRules) -> int | None:
    """Time of the first event that exceeds the limit within the span; None if there is none."""
    in_order = sorted(times)
    pairs = zip(in_order, in_order[rules.most_events :], strict=False)
    return next((last for first, last in pairs if last - first < rules.span), None)
