"""Explains whether a user agent is a bot's: the pattern or name that it matches, and where that stands."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from folds.visitors.user_agents import FILE, LIST_FILE, NO_USER_AGENT, load_agent_rules


@dataclass(frozen=True)
class AgentReason:
    """Whether a user agent is a bot's.

    Args:
        is_bot: whether it is.
        matched: the pattern or name that it matches.
        file: in conf/, which has it.
        line: of that file, from 1.
    """

    is_bot: bool
    matched: str | None = None
    file: str | None = None
    line: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """The fields as a dictionary; None for missing values."""
        return asdict(self)


def explain_user_agent(conf: Path, user_agent: str, library: str | None = None) -> AgentReason:
    """Find the first pattern of conf/bots.yml, else name of conf/crawlers.yml, that a user agent matches.

    Args:
        conf: the folder of the rules.
        user_agent: as sent; empty if there is none.
        library: that sent the event, `context.library.name`.
    """
    matched = load_agent_rules(conf).matched_by(user_agent or None, library)
    if matched is None:
        return AgentReason(is_bot=False)
    wanted = library if matched == NO_USER_AGENT else matched
    places = ((FILE, "without_user_agent"), (FILE, "user_agents"), (LIST_FILE, "names"))
    for file, key in places:
        if line := _line(conf / file, key, wanted):
            return AgentReason(True, matched, file, line)
    return AgentReason(True, matched)


def _line(file: Path, key: str, wanted: str | None) -> int | None:
    """The line of an entry in a list of a file, from 1."""
    document: Any = yaml.compose(file.read_text(encoding="utf-8")) if file.is_file() else None
    lists = (value for name, value in document.value if name.value == key) if document else ()
    return next(
        (each.start_mark.line + 1 for entries in lists for each in entries.value if each.value == wanted),
        None,
    )
