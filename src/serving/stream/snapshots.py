"""Snapshots as messages; small ones are cached for subscribers who begin at about the same time."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import TypeVar

from serving.sources.row_changes import Position
from serving.sources.source import Source
from serving.stream.messages import Message, reset_message, rows_message
from serving.stream.resume_token import Subject

_T = TypeVar("_T")
_SHARED_BYTES = 4 << 20
"""Maximum bytes of a cached snapshot; larger ones are read for each subscriber."""


class Snapshots:
    """Snapshots of a source.

    Args:
        source: the source.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
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
                    self._kept, self.position = found, position
            else:
                found, rest = self._kept, None
        for message in found:
            yield message
        if rest is not None:
            async for message in rest:
                yield message

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
