"""Snapshots as messages; small ones are cached for subscribers who begin at about the same time."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import TypeVar

from serving.sources.row_changes import Position
from serving.sources.source import Source
from serving.stream.byte_budget import ByteBudget
from serving.stream.messages import Message, reset_message, rows_message
from serving.stream.resume_token import Subject

_T = TypeVar("_T")
_SHARED_BYTES = 1 << 20
"""Maximum bytes of a cached snapshot; larger ones are read for each subscriber."""
_COPIES = 3
"""Rows, messages and events of a snapshot are kept."""


class Snapshots:
    """Snapshots of a source.

    Args:
        source: the source.
        budget: bytes of all cached snapshots and changes.
    """

    def __init__(self, source: Source, budget: ByteBudget) -> None:
        self._source = source
        self._budget = budget
        self._bytes = 0
        self._is_open = True
        self._lock = asyncio.Lock()
        self._kept: list[Message] = []
        self.position: Position | None = None
        """Position of the cached snapshot."""

    async def read(self, subject: Subject, position: Position) -> AsyncGenerator[Message, None]:
        """The messages of a snapshot: a reset, then rows. The last message has the position.

        Raises:
            MillraceError: if the rows can't be read.
        """
        async with self._lock:
            if self.position != position:
                rest = self._messages(subject, position)
                found, size = [], 0
                async for message in rest:
                    found.append(message)
                    size += len(message.json)
                    if size > _SHARED_BYTES:
                        break
                else:
                    self._keep(found, position, size * _COPIES)
            else:
                found, rest = self._kept, None
        for message in found:
            yield message
        if rest is not None:
            async for message in rest:
                yield message

    def close(self) -> None:
        """Keep no snapshot from now on."""
        self._is_open = False
        self._forget()

    def _forget(self) -> None:
        self._kept, self.position = [], None
        self._budget.used -= self._bytes
        self._bytes = 0

    def _keep(self, found: list[Message], position: Position, size: int) -> None:
        self._forget()
        if self._is_open and self._budget.has_room(size):
            self._kept, self.position, self._bytes = found, position, size
            self._budget.used += size

    async def _messages(self, subject: Subject, position: Position) -> AsyncGenerator[Message, None]:
        yield reset_message(subject, position)
        waiting: list[bytes] | None = None
        async for rows in in_thread(self._source.rows(position)):
            if waiting is not None:
                yield rows_message(waiting, position, None)
            waiting = list(rows)
        yield rows_message(waiting or [], position, subject.token(position))


async def in_thread(found: Iterator[_T]) -> AsyncIterator[_T]:
    """The items of a blocking iterator, read on other threads."""
    end = object()
    while (item := await asyncio.to_thread(next, found, end)) is not end:
        yield item  # type: ignore[misc]
