"""Entries of the collector's log."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from intake.segment_requests import Message


class Delivered(NamedTuple):
    """A message in Kafka: receipt and source of its request, partition, offset, time of logging (µs)."""

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
        receipt: id of the request.
        source: name of the sender.
        messages: messages to forward, or to set aside.
        is_shed: whether they are set aside.
        promise: RFC 3339 time before which the source sends no more, or `end`; forwarded after the messages.
        position: resume position of the source's stream after these messages.
    """

    receipt: str = ""
    source: str = ""
    messages: Sequence[Message] = ()
    is_shed: bool = False
    promise: str | None = None
    position: str | None = None

    @property
    def size(self) -> int:
        """Bytes that count against the budgets."""
        return sum(len(message.value) for message in self.messages)


@dataclass
class Tally:
    """Increments of a source's row in table `counts`."""

    received: int = 0
    forwarded: int = 0
    lost: int = 0
    refused: int = 0


@dataclass(frozen=True)
class Totals:
    """Numbers and bytes of the messages in the log.

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

    def after(self, written: Sequence[Write], removed: tuple[int, int]) -> "Totals":
        """The totals after a commit.

        Args:
            written: what it wrote.
            removed: number and bytes of the messages that it removed.
        """
        shed = [each for each in written if each.is_shed]
        kept = [each for each in written if not each.is_shed]
        promises = sum(each.promise is not None for each in kept)
        return replace(
            self,
            waiting=self.waiting + sum(len(each.messages) for each in kept) + promises - removed[0],
            size=self.size + sum(each.size for each in kept) - removed[1],
            shed=self.shed + sum(len(each.messages) for each in shed),
            shed_size=self.shed_size + sum(each.size for each in shed),
        )
