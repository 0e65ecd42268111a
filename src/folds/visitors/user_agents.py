"""User agents of programs: which pattern of conf/bots.yml or name of conf/crawlers.yml one matches."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from folds.visitors.agent_matcher import Matcher, lower_pattern
from lakehouse.bundle_file import parse_yaml
from lakehouse.errors import MillraceError, first_problem

FILE, LIST_FILE = "bots.yml", "crawlers.yml"
NO_USER_AGENT = "no user agent"
"""What an event of an access log without a user agent matches."""

_MAX_READ = 1_000  # characters
_OPAQUE = re.compile(r"\\.|\[\^?(?:\\.|[^\\\]])*\]")  # an escape, a class
_UNBOUNDED = re.compile(r"[*+]|\{\d*,\}|\)\{")

_Model = TypeVar("_Model", bound=BaseModel)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Document(_Strict):
    user_agents: list[str] = []
    not_read: list[str] = []
    ignored_names: list[str] = []
    without_user_agent: list[str] = []


class _List(BaseModel):
    """The part of conf/crawlers.yml that is read; the file also has its sources and date."""

    names: list[Annotated[str, Field(pattern=r"^\^?[a-z0-9][ -~]{2,}$")]] = []


@dataclass(frozen=True)
class AgentRules:
    """What user agents of programs look like.

    Args:
        patterns: regular expressions, searched anywhere in a user agent.
        names: found at the start of a word; one of up to five letters is a whole word. `^` is the start of
            the user agent, `$` its end.
        not_read: regular expressions of the parts that are ignored.
        without_user_agent: libraries (`context.library.name`) whose events without a user agent are a
            program's.
    """

    patterns: tuple[str, ...]
    names: tuple[str, ...] = ()
    not_read: tuple[str, ...] = ()
    without_user_agent: frozenset[str] = frozenset()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without the compiled rules: each process compiles its own."""
        return AgentRules, (self.patterns, self.names, self.not_read, self.without_user_agent)

    def matched_by(self, user_agent: str | None, library: str | None = None) -> str | None:
        """The first of the patterns, then of the names, that a user agent matches; None for a person's.

        Args:
            user_agent: of an event. At most its first 1,000 characters are read.
            library: that sent the event.
        """
        if user_agent is None or user_agent == "-":
            return NO_USER_AGENT if library in self.without_user_agent else None
        return self._compiled.find(user_agent[:_MAX_READ])

    @cached_property
    def _compiled(self) -> Matcher:
        return _matcher(self.patterns, self.names, self.not_read)


def load_agent_rules(conf: Path) -> AgentRules:
    """Load conf/bots.yml and conf/crawlers.yml; without the list, only the patterns of bots.yml are known.

    Raises:
        MillraceError: for an unknown field, or a pattern that is wrong or may be slow.
    """
    listed = conf / LIST_FILE
    texts = [file.read_text(encoding="utf-8") if file.is_file() else "" for file in (conf / FILE, listed)]
    return _load(*texts)


@lru_cache(maxsize=4)
def _load(text: str, listed: str) -> AgentRules:
    """Parse the texts of the files, cached: jobs load them for each micro-batch, and they rarely change."""
    document = _validate(_Document, parse_yaml(text, FILE), FILE)
    for pattern in (*document.user_agents, *document.not_read):
        _check(pattern)
    names = _validate(_List, parse_yaml(listed, LIST_FILE), LIST_FILE).names
    ignored = {name.lower() for name in document.ignored_names}
    return AgentRules(
        tuple(document.user_agents),
        tuple(sorted(name for name in names if name.strip("^$ ") and name.strip("^$ ") not in ignored)),
        tuple(document.not_read),
        frozenset(document.without_user_agent),
    )


@lru_cache(maxsize=4)
def _matcher(*rules: tuple[str, ...]) -> Matcher:
    """Compiled once per process: each task of Spark gets a copy of the rules."""
    return Matcher(*rules)


def _check(pattern: str) -> None:
    problem = "a repetition without bound, as `*` and `+`, may be slow: use {0,60}"
    if not _UNBOUNDED.search(_OPAQUE.sub("x", pattern)):
        try:
            re.compile(f"(?:{lower_pattern(pattern)})", re.ASCII)
            return
        except re.error as error:
            problem = f"it is no regular expression: {error}"
    raise MillraceError(f"{FILE}: {pattern}: {problem}", f"Correct {FILE} in conf/")


def _validate(model: type[_Model], fields: Mapping[str, object] | None, file: str) -> _Model:
    try:
        return model.model_validate(fields or {})
    except ValidationError as error:
        raise MillraceError(f"{file}: {first_problem(error)}", f"Correct {file} in conf/") from error
