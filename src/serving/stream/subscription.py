"""The messages of one subscriber: a snapshot or missed changes, then new changes, within a budget."""

import asyncio
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from lakehouse.errors import MillraceError
from serving.sources.row_changes import Position, conflate, is_ahead
from serving.stream.channel import Channel
from serving.stream.messages import (
    Message,
    Published,
    heartbeat_message,
    missing_message,
    stale_message,
    warning_message,
)
from serving.stream.snapshots import in_thread

_FIRST_SECONDS = 1.0
"""Seconds for a channel to find its tables, or what has changed while it had no subscribers."""
_BEHIND_SECONDS = 5.0
"""Seconds for which a channel may lag behind a position from another node."""


class SlowSubscriberError(Exception):
    """A subscriber does not take its messages in time."""


@dataclass(frozen=True)
class Terms:
    """Settings of a subscription.

    Args:
        interval: minimum seconds between two groups; groups in between are conflated.
        conflates: whether groups may be conflated if the subscriber is slow.
        budget: bytes of changes that may wait. Above half of it, the subscriber is warned; above all of it,
            groups are conflated; if these exceed four times the budget, the subscriber is disconnected.
        heartbeat: seconds without a message after which a heartbeat is sent.
    """

    interval: float = 0.0
    conflates: bool = True
    budget: int = 1 << 20
    heartbeat: float = 15.0


class Subscription:
    """A subscriber's position in a channel.

    Args:
        channel: the channel.
        after: resume token of the last group that the subscriber has; None: begin with a snapshot.
        terms: settings; may be replaced at any time.
        reader: name of the reader.

    Raises:
        MillraceError: if the token can't be parsed.
    """

    def __init__(self, channel: Channel, after: str | None, terms: Terms, reader: str = "") -> None:
        self.terms = terms
        self._channel = channel
        self._after = after
        self._reader = reader
        if after is not None:
            channel.subject.position(after)
        self._generation = -1
        self._position: dict[str, int] = {}
        self._place = 0
        self._resumed_until = 0
        self._bytes = 0
        self._warned = False
        self._last = 0.0  # message
        self._sent = 0.0  # group

    async def messages(self) -> AsyncGenerator[Message, None]:
        """The messages, without end.

        Raises:
            MillraceError: if the source can't be followed.
            SlowSubscriberError: if too many bytes of changes wait.
        """
        with self._channel.attendance.subscriber():
            async for message in self._wait():
                yield message
            while True:
                async for message in self._begin():
                    yield message
                async for message in self._follow():
                    yield message

    async def _wait(self) -> AsyncGenerator[Message, None]:
        """Warnings until all tables exist."""
        await self._channel.look_within(_FIRST_SECONDS)
        while self._channel.position is None:
            if self._channel.failure:
                raise self._channel.failure
            if not await self._channel.news_within(max(self.terms.heartbeat, _FIRST_SECONDS)):
                yield missing_message(self._channel.source.tables)

    async def _begin(self) -> AsyncGenerator[Message, None]:
        """Missed changes or a snapshot, up to the groups that the channel keeps."""
        known, self._after = await self._usable(), None
        channel = self._channel
        self._generation = channel.generation
        if known is not None and (place := channel.place_after(known)) is not None:
            self._go_to(place, known)
            self._resumed_until = channel.end
            return
        position, place = channel.position or {}, channel.end
        if known is not None:
            try:
                missed = (group.in_memory() for group in channel.source.between(known, position))
                async for group in in_thread(missed):
                    for message in Published(group, channel.subject).messages:
                        yield message
            except MillraceError:  # too old
                known = None
        if known is None:
            position, place = channel.snapshot_place()
            async for message in channel.snapshots.read(channel.subject, position, self._reader):
                yield message
        self._sent = time.monotonic()
        self._go_to(place, position)

    async def _usable(self) -> dict[str, int] | None:
        """The position of the resume token, if it is valid for these tables; None for a snapshot."""
        channel = self._channel
        position = None if self._after is None else channel.subject.position(self._after)
        if position is None:
            return None
        until = time.monotonic() + _BEHIND_SECONDS
        while is_ahead(position, channel.position or {}):
            if (pause := until - time.monotonic()) <= 0 or not await channel.news_within(pause):
                return None
        return position

    async def _follow(self) -> AsyncGenerator[Message, None]:
        """Groups of the channel, until the next one is no longer kept, or a table was recreated."""
        channel, self._last = self._channel, time.monotonic()
        while channel.generation == self._generation:
            now, has_changes = time.monotonic(), self._place != channel.end
            quiet, pause = self._last + self.terms.heartbeat - now, self._sent + self.terms.interval - now
            if not has_changes or pause > 0:  # no group is due
                if quiet <= 0:
                    self._last = now
                    yield self._heartbeat()
                if has_changes:
                    await asyncio.sleep(min(pause, max(quiet, 0)))  # until a heartbeat is due
                else:
                    await channel.news_within(max(quiet, 0))
                continue
            waiting = channel.bytes_ended - self._bytes
            if (warning := self._warning(waiting)) is not None:
                yield warning
            published = self._next(waiting)
            if published is None:
                return
            messages = published.messages
            for message in messages:
                yield message
            if messages:
                self._last = self._sent = time.monotonic()

    def _heartbeat(self) -> Message:
        """A heartbeat, or a warning if the tables can't be read."""
        if (failure := self._channel.failure) is not None:
            return stale_message(failure)
        return heartbeat_message(self._channel.subject, self._position)

    def _warning(self, waiting: int) -> Message | None:
        was, self._warned = self._warned, waiting > self.terms.budget // (4 if self._warned else 2)
        return warning_message(waiting, self.terms.budget) if self._warned and not was else None

    def _next(self, waiting: int) -> Published | None:
        """The next group, or all waiting groups conflated; None if the channel does not keep them.

        Changes that a resuming subscriber has missed are sent group by group if they are over its budget.
        """
        channel, terms = self._channel, self.terms
        first = channel.since(self._place)
        if first is None:
            self._after = channel.subject.token(self._position)
            return None
        is_resuming = self._place < self._resumed_until and waiting > 4 * terms.budget
        if is_resuming or (not terms.interval and not (terms.conflates and waiting > terms.budget)):
            self._step(first)
            return first
        groups = channel.all_since(self._place)
        joined = conflate([each.group for each in groups])
        if terms.conflates and len(groups) > 1 and joined.size > 4 * terms.budget:
            raise SlowSubscriberError(f"{joined.size:,} bytes of changes wait, after conflation")
        self._go_to(channel.end, joined.position)
        return Published(joined, channel.subject, is_conflated=len(groups) > 1)

    def _step(self, published: Published) -> None:
        self._place += 1
        self._bytes += published.group.size
        self._position = dict(published.group.position)

    def _go_to(self, place: int, position: Position) -> None:
        channel = self._channel
        later = channel.all_since(place) if place < channel.end else []
        self._place, self._position = place, dict(position)
        self._bytes = channel.bytes_ended - sum(each.group.size for each in later)
