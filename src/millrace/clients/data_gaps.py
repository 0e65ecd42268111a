"""What the events of a file lack for attribution, found in the messages as sent and what became of them."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import Raw

from folds.records.event_time import parse_time
from folds.records.json_text import text, text_or_none
from folds.records.message import (
    Message,
    decode_members,
    decode_message,
    decode_part,
    decode_value,
)
from folds.records.outcomes import Event, Outcome, Rejection
from folds.records.roles import RoleRules
from millrace.explain.gap_kinds import KINDS, TAGGED_LINK, is_unfilled

_TIMES = ("original_timestamp", "sent_at", "received_at", "timestamp")
_SNAKE_CASE = ("anonymous_id", "user_id")
_TAGGED = re.compile(TAGGED_LINK)
_SHOWN = 80


@dataclass
class Gap:
    """Events that lack something.

    Attributes:
        kind: a key of `gap_kinds.KINDS`.
        line: number of the first one's line.
        example: the first one's text, cut; empty if nothing was sent.
    """

    kind: str
    line: int
    example: str
    events: int = 0

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "kind": self.kind,
            "events": self.events,
            "first_line": self.line,
            "first": self.example or None,
        }


class DataGaps:
    """Counts what messages lack.

    Args:
        roles: names the goals that have a value.
        asks_consent: whether these messages can carry consent; an access log can't.
    """

    def __init__(self, roles: RoleRules, *, asks_consent: bool) -> None:
        self._roles = roles
        self._asks_consent = asks_consent
        self._found: dict[str, Gap] = {}
        self._known_users: set[str] = set()
        self._server_events: Counter[str] = Counter()
        self._server_lines: dict[str, int] = defaultdict(int)

    def add(self, value: bytes, outcome: Outcome, line: int) -> None:
        """Count a record.

        Args:
            value: its bytes.
            outcome: what parsing gave.
            line: number of its line.
        """
        message = decode_message(value)
        if message is None or not isinstance(outcome, (Event, Rejection)):
            return
        for kind, example in self._gaps(value, message, outcome):
            self._count(kind, line, example)
        if isinstance(outcome, Event) and outcome.user_id:
            self._note_user(outcome, outcome.user_id, text_or_none(message.anonymous_id) is None, line)

    def found(self) -> list[Gap]:
        """All gaps, the costliest first."""
        found = dict(self._found)
        unknown = {
            user: count for user, count in self._server_events.items() if user not in self._known_users
        }
        if unknown:
            first = min(unknown, key=self._server_lines.__getitem__)
            line = self._server_lines[first]
            found["unknown_user"] = Gap("unknown_user", line, _cut(first), sum(unknown.values()))
        return [found[kind] for kind in KINDS if kind in found]

    def _gaps(self, value: bytes, message: Message, outcome: Event | Rejection) -> Iterator[tuple[str, str]]:
        if isinstance(outcome, Event):
            yield from self._money_gaps(message, outcome)
        yield from _time_gaps(message)
        yield from _id_gaps(value, message, outcome)
        if isinstance(outcome, Event):
            if outcome.url and not _is_tag_read(outcome, outcome.url):
                yield "unreadable_link", outcome.url
            if self._asks_consent and not _has_consent(message):
                yield "no_consent", ""

    def _money_gaps(self, message: Message, event: Event) -> Iterator[tuple[str, str]]:
        rule = self._roles.tracks.get(event.goal or "")
        if rule is None or not rule.money:
            return
        if event.value is not None:
            if event.value < 0 and not rule.negate:
                yield "negative_value", str(event.value.normalize())
            return
        none: dict[str, Raw] = {}
        members = decode_part(message.properties, decode_members, none)
        sent = next((found for name in rule.money if (found := _text(members, name))), "")
        unreadable = "unreadable_refund" if rule.negate else "unreadable_value"
        yield (unreadable, sent) if sent else ("no_value", "")

    def _note_user(self, event: Event, user: str, has_no_visitor: bool, line: int) -> None:
        """A server's event has neither a visitor of its own nor a page, and is no screen."""
        if has_no_visitor and event.url is None and event.type == "track":
            self._server_events[user] += 1
            self._server_lines.setdefault(user, line)
        elif not has_no_visitor:
            self._known_users.add(user)

    def _count(self, kind: str, line: int, example: str) -> None:
        gap = self._found.setdefault(kind, Gap(kind, line, _cut(example)))
        gap.events += 1


def _time_gaps(message: Message) -> Iterator[tuple[str, str]]:
    sent = [found for name in _TIMES if (found := text_or_none(getattr(message, name)))]
    unreadable = [each for each in sent if parse_time(each) is None]
    if unreadable:
        yield "unreadable_time", unreadable[0]
    if not sent:
        yield "no_time", ""


def _id_gaps(value: bytes, message: Message, outcome: Event | Rejection) -> Iterator[tuple[str, str]]:
    """Ids that were sent and that the parser took for missing, and those that it does not read."""
    anonymous, user = _stripped(message.anonymous_id), _stripped(message.user_id)
    if isinstance(outcome, Event):
        is_dropped = (bool(user) and outcome.user_id is None) or (
            bool(anonymous) and outcome.visitor_id == outcome.user_id and anonymous != outcome.user_id
        )
    else:
        is_dropped = outcome.reason == "no_identity" and bool(anonymous or user)
    if is_dropped:
        is_user = bool(user) and (isinstance(outcome, Rejection) or outcome.user_id is None)
        yield "placeholder_id", user if is_user else anonymous
    if not (anonymous and user) and any(name.encode() in value for name in _SNAKE_CASE):
        members = decode_value(value, decode_members) or {}
        named = [name for name in _SNAKE_CASE if _text(members, name)]
        if ("user_id" in named and not user) or ("anonymous_id" in named and not anonymous):
            yield "snake_case_id", ", ".join(named)


def _is_tag_read(event: Event, url: str) -> bool:
    """Whether the tags of a page's address, if it has any, gave a campaign."""
    if not _TAGGED.search(url):
        return True
    fields = (event.campaign_source, event.campaign_medium, event.campaign_name, event.campaign_id)
    return any(fields) and not any(is_unfilled(field) for field in fields if field)


def _has_consent(message: Message) -> bool:
    none: dict[str, Raw] = {}
    return _text(decode_part(message.context, decode_members, none), "consent") != ""


def _text(members: Mapping[str, Raw], name: str) -> str:
    return text(members[name]) or "" if name in members else ""


def _stripped(raw: Raw) -> str:
    return (text(raw) or "").strip()


def _cut(example: str) -> str:
    return example if len(example) <= _SHOWN else f"{example[:_SHOWN]}…"
