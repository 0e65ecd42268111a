"""Finds what a user agent matches, of many patterns and names."""

import re
from collections.abc import Callable, Iterable, Iterator

_MAX_ENTRIES = 10_000
_KEY = 3  # characters
_GAP = "\0"
_WORD = re.compile(r"[a-z0-9]+")
_SHORT_WORD = re.compile(r"[a-z]{1,5}")
_SPECIAL = "()[]{}?|^$"


_Pattern = tuple[str, str, Callable[[str], re.Match[str] | None], re.Pattern[str]]
"""A pattern; a text that all its matches contain, looked for first; a search for it; its expression."""


class Matcher:
    """Compiled rules, with a cache of user agents.

    Args:
        patterns: regular expressions, searched anywhere.
        names: found at the start of a word; see `AgentRules`.
        not_read: regular expressions of the parts that are ignored.
    """

    def __init__(self, patterns: Iterable[str], names: Iterable[str], not_read: Iterable[str]) -> None:
        self._patterns = [_compiled(each) for each in patterns]
        self._not_read = [_compiled(each) for each in not_read]
        self._names: dict[str, list[tuple[str, str]]] = {}  # by their first characters: name, text
        for name in names:
            bare = name.removeprefix("^").removesuffix("$")
            self._names.setdefault(bare[:_KEY], []).append((name, bare))
        self._known: dict[str, str | None] = {}

    def find(self, user_agent: str) -> str | None:
        """The first pattern, else the first name, that a user agent matches."""
        if user_agent not in self._known:
            if len(self._known) >= _MAX_ENTRIES:
                self._known.clear()
            self._known[user_agent] = self.look_for(user_agent.lower())
        return self._known[user_agent]

    def look_for(self, text: str) -> str | None:
        """The same for a text in lower case, uncached."""
        for _, needed, find, compiled in self._not_read:
            if needed in text and find(text):
                text = compiled.sub(" ", text)
        for pattern, needed, find, _ in self._patterns:
            if needed in text and find(text):
                return pattern
        found: list[str] = []
        for word in _WORD.finditer(text):
            at = word.start()
            if names := self._names.get(text[at : at + _KEY]):
                found += _names_at(text, at, names)
        return min(found, default=None)


def _names_at(text: str, start: int, names: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Those of the names, with their texts, that start there."""
    for name, bare in names:
        end = start + len(bare)
        if not text.startswith(bare, start) or (name[0] == "^" and start):
            continue
        if name[-1] == "$" and end < len(text):
            continue
        if not (_SHORT_WORD.fullmatch(bare) and text[end : end + 1].isalpha()):
            yield name


def _compiled(pattern: str) -> _Pattern:
    lower = lower_pattern(pattern)
    compiled = re.compile(lower, re.ASCII)
    is_anchored = lower.startswith("^") and "|" not in _without_groups(lower)
    return pattern, needed_text(lower), compiled.match if is_anchored else compiled.search, compiled


def needed_text(pattern: str) -> str:
    """The longest text that everything matched by a pattern contains; empty if there is none in plain sight.

    Args:
        pattern: a regular expression without `*` and `+`.
    """
    bare = _without_groups(pattern)
    if "|" in bare:
        return ""
    bare = re.sub(r".(?:\?|\{[0-9,]*\})", _GAP, bare)
    return max(re.split(rf"[{_GAP}.^$]", bare), key=len)


def _without_groups(pattern: str) -> str:
    """A pattern with a gap for each class and group, and without escapes."""
    bare = re.sub(r"\\(.)", _unescaped, pattern)
    bare = re.sub(r"\[[^\]]*\]", _GAP, bare)
    while (inner := re.sub(r"\([^()]*\)", _GAP, bare)) != bare:
        bare = inner
    return bare


def _unescaped(escape: re.Match[str]) -> str:
    """The character that an escape stands for; a gap if it is a class, or would look like syntax."""
    return _GAP if escape[1].isalnum() or escape[1] in _SPECIAL else escape[1]


def lower_pattern(pattern: str) -> str:
    r"""A pattern in lower case, but for escapes such as `\W`."""
    return re.sub(r"\\.|[A-Z]+", lambda part: part[0] if part[0][0] == "\\" else part[0].lower(), pattern)
