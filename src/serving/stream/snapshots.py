"""Snapshots as messages. Subscribers who begin at about the same time share them."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import TypeVar
from weakref import WeakValueDictionary

from serving.sources.row_changes import Position, PositionKey, position_key
from serving.sources.source import Rows, Source
from serving.stream.byte_budget import ByteBudget
from serving.stream.fair_threads import FairThreads
from serving.stream.messages import Message, reset_message, rows_message
from serving.stream.resume_token import Subject

_T = TypeVar("_T")
_SHARED_BYTES = 1 << 20
"""Maximum bytes of a cached snapshot; the rows of larger ones are encoded for each subscriber."""
_COPIES = 3
"""Rows, messages and events of a snapshot are kept."""


class Snapshots:
    """Snapshots of a source.

    Args:
        source: the source.
        budget: bytes of all cached snapshots and changes.
        threads: read the rows; None: threads of its own.
    """

    def __init__(self, source: Source, budget: ByteBudget, threads: FairThreads | None = None) -> None:
        self._source = source
        self._budget = budget
        self._threads = threads or FairThreads()
        self._bytes = 0
        self._is_open = True
        self._lock = asyncio.Lock()
        self._reading = asyncio.Lock()
        self._rows: WeakValueDictionary[PositionKey, Rows] = WeakValueDictionary()
        """Rows that subscribers are taking now."""
        self._kept: list[Message] = []
        self._unshared: Position | None = None
        """The last position whose snapshot can't be cached."""
        self.position: Position | None = None
        """Position of the cached snapshot."""

    async def read(
        self, subject: Subject, position: Position, reader: str = ""
    ) -> AsyncGenerator[Message, None]:
        """The messages of a snapshot: a reset, then rows. The last message has the position.

        Args:
            subject: content of the resume token.
            position: versions of the tables.
            reader: name of the reader.

        Raises:
            MillraceError: if the rows can't be read.
        """
        rest = self._messages(subject, position, reader)
        for message in await self._shared(rest, position):
            yield message
        async for message in rest:
            yield message

    async def _shared(self, messages: AsyncGenerator[Message, None], position: Position) -> list[Message]:
        """The cached messages, or the first ones that were read to find out whether they can be cached.

        What can't be is encoded for each subscriber, and no more of it than it takes.
        """
        if self._unshared == position:
            return []
        async with self._lock:
            if self.position == position:
                await messages.aclose()
                return self._kept
            return [] if self._unshared == position else await self._share(messages, position)

    async def _share(self, messages: AsyncGenerator[Message, None], position: Position) -> list[Message]:
        """Read messages, and cache them if they are few and small. Else the first ones are returned."""
        found, size = [], 0
        async for message in messages:
            found.append(message)
            size += len(message.json)
            if size > _SHARED_BYTES:
                self._unshared = position
                return found
        self._keep(found, position, size * _COPIES)
        return found

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
        else:
            self._unshared = position

    async def _messages(
        self, subject: Subject, position: Position, reader: str
    ) -> AsyncGenerator[Message, None]:
        yield reset_message(subject, position)
        rows, waiting = await self._read(position, reader), None
        async for lines in in_thread(rows.lines()):
            if waiting is not None:
                yield rows_message(waiting, position, None)
            waiting = lines
        yield rows_message(waiting or b"", position, subject.token(position))

    async def _read(self, position: Position, reader: str) -> Rows:
        """The rows, which are read once for all subscribers who take them at the same time."""
        key = position_key(position)
        async with self._reading:
            found = self._rows.get(key)
            if found is None:
                found = await self._threads.run(reader, self._source.rows, position, reader)
                self._rows[key] = found
            return found


async def in_thread(found: Iterator[_T]) -> AsyncIterator[_T]:
    """The items of a blocking iterator, read on other threads."""
    end = object()
    while (item := await asyncio.to_thread(next, found, end)) is not end:
        yield item  # type: ignore[misc]
