"""Finds what a user agent matches, of many patterns and names."""

import re
from collections.abc import Iterable, Iterator

_MAX_ENTRIES = 10_000
_KEY = 3  # characters
_GAP = "\0"
_WORD_START = re.compile(r"(?<![a-z0-9])[a-z0-9]")
_SHORT_WORD = re.compile(r"[a-z]{1,5}")
_SPECIAL = "()[]{}?|^$"


class _Pattern:
    """A regular expression, and a text that everything it matches contains: looking for that is quicker."""

    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self.compiled = re.compile(lower_pattern(pattern), re.ASCII)
        self._needed = needed_text(lower_pattern(pattern))

    def is_in(self, text: str) -> bool:
        return self._needed in text and self.compiled.search(text) is not None


class Matcher:
    """Compiled rules, with a cache of user agents.

    Args:
        patterns: regular expressions, searched anywhere.
        names: found at the start of a word; see `AgentRules`.
        not_read: regular expressions of the parts that are ignored.
    """

    def __init__(self, patterns: Iterable[str], names: Iterable[str], not_read: Iterable[str]) -> None:
        self._patterns = [_Pattern(each) for each in patterns]
        self._not_read = [_Pattern(each) for each in not_read]
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
        for part in self._not_read:
            if part.is_in(text):
                text = part.compiled.sub(" ", text)
        for pattern in self._patterns:
            if pattern.is_in(text):
                return pattern.text
        starts = (found.start() for found in _WORD_START.finditer(text))
        return min((name for start in starts for name in self._names_at(text, start)), default=None)

    def _names_at(self, text: str, start: int) -> Iterator[str]:
        for name, bare in self._names.get(text[start : start + _KEY], ()):
            end = start + len(bare)
            if not text.startswith(bare, start) or (name[0] == "^" and start):
                continue
            if name[-1] == "$" and end < len(text):
                continue
            if not (_SHORT_WORD.fullmatch(bare) and text[end : end + 1].isalpha()):
                yield name


def needed_text(pattern: str) -> str:
    """The longest text that everything matched by a pattern contains; empty if there is none in plain sight.

    Args:
        pattern: a regular expression without `*` and `+`.
    """
    bare = re.sub(r"\\(.)", _unescaped, pattern)
    bare = re.sub(r"\[[^\]]*\]", _GAP, bare)
    while (inner := re.sub(r"\([^()]*\)", _GAP, bare)) != bare:
        bare = inner
    if "|" in bare:
        return ""
    bare = re.sub(r".(?:\?|\{[0-9,]*\})", _GAP, bare)
    return max(re.split(rf"[{_GAP}.^$]", bare), key=len)


def _unescaped(escape: re.Match[str]) -> str:
    """The character that an escape stands for; a gap if it is a class, or would look like syntax."""
    return _GAP if escape[1].isalnum() or escape[1] in _SPECIAL else escape[1]


def lower_pattern(pattern: str) -> str:
    r"""A pattern in lower case, but for escapes such as `\W`."""
    return re.sub(r"\\.|[A-Z]+", lambda part: part[0] if part[0][0] == "\\" else part[0].lower(), pattern)
