"""Messages to subscribers. A message with a position completes all messages since the last position."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from typing import Any

import msgspec

from serving.sources.row_changes import ChangeGroup, Position, RowChange
from serving.stream.resume_token import Subject

_MESSAGE_BYTES = 64 << 10
"""Approximate bytes of changes in a message, which a subscriber has to take within the send timeout."""


@dataclass(frozen=True)
class Message:
    """A message.

    Args:
        kind: `reset`, `rows`, `changes`, `heartbeat`, `warning` or `closed`.
        content: fields other than the type, in JSON's types.
        position: resume token, if the message completes a group.
    """

    kind: str
    content: Mapping[str, Any]
    position: str | None = None

    @property
    def ends_poll(self) -> bool:
        """Whether a long poll ends with this message."""
        is_waiting = self.kind == "warning" and self.content["reason"] != "slow"
        return self.position is not None or self.kind == "closed" or is_waiting

    @cached_property
    def json(self) -> bytes:
        """The message as a JSON object."""
        position = {} if self.position is None else {"position": self.position}
        return msgspec.json.encode({"type": self.kind, **self.content, **position})

    @cached_property
    def text(self) -> str:
        """The message as JSON text."""
        return self.json.decode()

    @cached_property
    def event(self) -> bytes:
        """The message as a server-sent event: JSON has no line breaks."""
        number = b"" if self.position is None else b"id: " + self.position.encode() + b"\n"
        return b"event: " + self.kind.encode() + b"\n" + number + b"data: " + self.json + b"\n\n"


class Published:
    """A group with its messages, which are encoded once for all subscribers while it is one of the latest.

    Its messages take several times the memory of its changes.

    Args:
        group: the changes.
        subject: content of its resume token.
        is_conflated: whether it replaces several groups.
    """

    def __init__(self, group: ChangeGroup, subject: Subject, *, is_conflated: bool = False) -> None:
        self.group = group
        self.token = subject.token(group.position)
        self._key = subject.key
        self._is_conflated = is_conflated
        self._is_latest = True
        self._messages: list[Message] | None = None

    def age(self) -> None:
        """Keep no messages from now on: the few subscribers who are late encode them again."""
        self._is_latest, self._messages = False, None

    @property
    def messages(self) -> list[Message]:
        """Messages with a part of the changes each; empty without changes. The last one has the position."""
        found = self._encoded() if self._messages is None else self._messages
        if self._is_latest:
            self._messages = found
        return found

    def _encoded(self) -> list[Message]:
        chunks = list(_chunks(self.group.rows))
        common = {
            "key": self._key,
            "versions": dict(self.group.position),
            "committed_at": as_time(self.group.committed_at),
            **({"conflated": True} if self._is_conflated else {}),
        }
        return [
            Message("changes", {"changes": chunk, **common}, self.token if chunk is chunks[-1] else None)
            for chunk in chunks
        ]


def reset_message(subject: Subject, position: Position) -> Message:
    """The message that a subscriber must discard all rows, since a snapshot follows."""
    return Message("reset", {"key": subject.key, "versions": dict(position)})


def rows_message(lines: bytes, position: Position, token: str | None) -> Message:
    """A message with rows of a snapshot, one a line; the last one has the position."""
    rows = msgspec.Raw(b"[" + lines.replace(b"\n", b",") + b"]")  # JSON has no line breaks
    return Message("rows", {"rows": rows, "versions": dict(position)}, token)


def heartbeat_message(subject: Subject, position: Position) -> Message:
    """The message that nothing has changed up to a position."""
    content = {"versions": dict(position), "at": as_time(time.time())}
    return Message("heartbeat", content, subject.token(position))


def warning_message(waiting: int, budget: int) -> Message:
    """The message that the subscriber is slow."""
    return Message("warning", {"reason": "slow", "waiting_bytes": waiting, "budget_bytes": budget})


def missing_message(tables: Sequence[str]) -> Message:
    """The message that a table does not exist yet."""
    return Message("warning", {"reason": "missing", "tables": tables})


def stale_message(error: Exception) -> Message:
    """The message that the tables can't be read now, so the subscriber's rows may be stale."""
    return Message("warning", {"reason": "stale", "error": str(error)})


def closed_message(reason: str) -> Message:
    """The last message, with the reason why the server ends the subscription."""
    return Message("closed", {"reason": reason})


def as_time(seconds: float | None) -> datetime | None:
    """Seconds since 1970 as a time in UTC."""
    return None if seconds is None else datetime.fromtimestamp(seconds, timezone.utc)


def _chunks(rows: Iterable[RowChange]) -> Iterator[list[dict[str, Any]]]:
    chunk: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        if size > _MESSAGE_BYTES:
            yield chunk
            chunk, size = [], 0
        chunk.append(row.json())
        size += row.size
    if chunk:
        yield chunk
