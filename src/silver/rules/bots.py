"""The bot rule: who is no person, and from when that is known."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import yaml

MOST_EVENTS = 100  # more than so many within the span, and it is no person
SPAN = timedelta(seconds=60)  # start included, end not
SPAN_MICROS = SPAN // timedelta(microseconds=1)

USER_AGENT, RATE = "user_agent", "rate"
REASONS = (USER_AGENT, RATE)  # in the order in which they count at the same time


@dataclass(frozen=True)
class BotRules:
    """What programs call themselves.

    Args:
        pattern: one regular expression, sought anywhere in a user agent; Java and Python read it alike.
    """

    pattern: str

    def is_bot(self, user_agent: str) -> bool:
        """Whether it says that it is no person."""
        return re.search(self.pattern, user_agent, re.ASCII) is not None


def load_bot_rules(conf: Path) -> BotRules:
    """Read conf/bots.yml."""
    patterns = yaml.safe_load((conf / "bots.yml").read_text())["user_agents"]
    return BotRules("(?i)" + "|".join(f"(?:{pattern})" for pattern in patterns))


def too_quick_since(times: Iterable[datetime]) -> datetime | None:
    """The earliest time of an event that is the 101st within the span; None if there is none."""
    in_order = sorted(times)
    pairs = zip(in_order, in_order[MOST_EVENTS:], strict=False)
    return next((last for first, last in pairs if last - first < SPAN), None)
