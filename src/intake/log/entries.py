"""Entries of the collector's log."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from intake.segment_requests import Message


class Delivered(NamedTuple):
    """A message in Kafka: receipt and source of its request, its place, when it was logged (microseconds)."""

    receipt: str
    source: str
    partition: int
    offset: int
    logged_at: int


class Logged(NamedTuple):
    """A message in the log, in order of arrival; a promise has no value."""

    sequence: int
    receipt: str
    source: str
    logged_at: int
    key: bytes | None
    value: bytes | None
    promise: str | None


@dataclass(frozen=True)
class Write:
    """Messages of a request.

    Args:
        receipt: of the request.
        source: who sent them.
        messages: to be forwarded, or set aside.
        is_shed: whether they are set aside.
        promise: RFC 3339 time before which the source sends no more, or `end`; it follows the messages.
        position: of the source's stream, up to which its messages are written with these.
    """

    receipt: str = ""
    source: str = ""
    messages: Sequence[Message] = ()
    is_shed: bool = False
    promise: str | None = None
    position: str | None = None

    @property
    def size(self) -> int:
        """Bytes in budgets."""
        return sum(len(message.value) for message in self.messages)


@dataclass
class Tally:
    """Counts of a source to add, as in table `counts`."""

    received: int = 0
    forwarded: int = 0
    lost: int = 0
    refused: int = 0


@dataclass(frozen=True)
class Totals:
    """What the log holds.

    Args:
        waiting: messages that Kafka does not have yet.
        size: bytes of their values.
        shed: messages set aside.
        shed_size: bytes of their values.
        last: last sequence number.
    """

    waiting: int = 0
    size: int = 0
    shed: int = 0
    shed_size: int = 0
    last: int = field(default=0, compare=False)
