"""Reads streams into the log, and resumes each after the last element that is on disk."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime, timezone
from random import Random
from uuid import uuid4

from intake.log.entries import Write
from intake.log.message_log import MessageLog, OverloadedError, UnavailableError
from intake.providers import Pull
from intake.pull.streams import Element, StreamError, open_stream
from intake.sources import Source, Sources
from intake.webhooks.mapping import Arrival, map_any

_LOG = logging.getLogger(__name__)
_SOURCES_SECONDS = 1.0  # between two reads of the sources
_FULL_SECONDS = 0.2  # between attempts while the log has no room
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0  # seconds between two connections
_AHEAD = 64
"""Elements that are read before they are written."""
_BATCH_BYTES = 1 << 20


class Backoff:
    """Exponential back-off with jitter between connections.

    Args:
        rng: random generator of the jitter.
    """

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._base = _FIRST_PAUSE
        self._failures = 0

    def note_retry(self, seconds: float) -> None:
        """Set the minimum pause that the server asks for (s)."""
        self._base = seconds

    def reset(self) -> None:
        """Reset the back-off after an element was written."""
        self._failures = 0

    def next_pause(self) -> float:
        """The next pause (s): doubled after each connection without an element, plus up to 50 % jitter."""
        pause = min(max(self._base, 0.001) * float(2**self._failures), max(self._base, _LONGEST_PAUSE))
        self._failures = min(self._failures + 1, 30)
        return pause * self._rng.uniform(1, 1.5)


class Puller:
    """Reads the streams of all sources that declare one.

    Elements and the position of the last one are written in one transaction. While the log is full, reading
    pauses.

    Args:
        log: keeps the positions, and events until Kafka has them.
        sources: returns the current sources.
        environment: environment variables with the tokens.
        rng: random generator of the jitter between connections.
    """

    def __init__(
        self,
        log: MessageLog,
        sources: Callable[[], Sources],
        environment: Mapping[str, str] = os.environ,
        rng: Random | None = None,
    ) -> None:
        self._log = log
        self._sources = sources
        self._environment = environment
        self._rng = rng or Random()
        self._tasks: dict[str, tuple[Source, asyncio.Task[None]]] = {}

    async def run(self) -> None:
        """Read until cancelled. Reconnects a source whose settings change; disconnects a removed source."""
        try:
            while True:
                wanted = {source.name: source for source in self._sources().declared if source.pull}
                for name, (source, task) in list(self._tasks.items()):
                    if wanted.get(name) != source or task.done():
                        await self._end(name)
                for name, source in wanted.items():
                    if name not in self._tasks and source.pull:
                        following = self._follow(source, source.pull)
                        self._tasks[name] = source, asyncio.create_task(following)
                await asyncio.sleep(_SOURCES_SECONDS)
        finally:
            for name in list(self._tasks):
                await self._end(name)

    async def _end(self, name: str) -> None:
        _, task = self._tasks.pop(name)
        task.cancel()
        (ended,) = await asyncio.gather(task, return_exceptions=True)
        if isinstance(ended, Exception):
            _LOG.error("the stream of %s ended: %s", name, type(ended).__name__)

    async def _follow(self, source: Source, pull: Pull) -> None:
        backoff = Backoff(self._rng)
        while True:
            why = "it ended"
            try:
                await self._read(source, pull, backoff)
            except StreamError as error:
                why = str(error)
            pause = backoff.next_pause()
            _LOG.warning("the stream of %s: %s, connecting again in %.1f s", source.name, why, pause)
            await asyncio.sleep(pause)

    async def _read(self, source: Source, pull: Pull, backoff: Backoff) -> None:
        """Read one connection to its end."""
        token = self._environment.get(pull.token_env) if pull.token_env else None
        if pull.token_env and not token:
            raise StreamError(f"{pull.token_env} is not set")
        position = self._log.positions.get(source.name)
        async with open_stream(pull, source.events, token, position, source.largest_body) as elements:
            ahead = _ReadAhead(elements)
            try:
                while batch := await ahead.next_batch():
                    for retry in (each.retry for each in batch if each.retry is not None):
                        backoff.note_retry(retry)
                    await self._write(source, batch)
                    backoff.reset()
                await ahead.result()
            finally:
                await ahead.stop()

    async def _write(self, source: Source, batch: Sequence[Element]) -> None:
        """Write elements and the position of the last; returns once they are on disk."""
        now, placeholders = datetime.now(timezone.utc), self._sources().placeholders
        messages = [
            map_any(
                Arrival(source.name, each.body, now, each.id, each.name, placeholders=placeholders),
                source.events,
            )
            for each in batch
            if each.body is not None
        ]
        positions = [each.position for each in batch if each.position is not None]
        if not messages and not positions:
            return
        write = Write(uuid4().hex, source.name, messages, position=positions[-1] if positions else None)
        while not await self._is_written(source, write):
            await asyncio.sleep(_FULL_SECONDS)

    async def _is_written(self, source: Source, write: Write) -> bool:
        try:
            self._require_room(source)
            await asyncio.shield(asyncio.wrap_future(self._log.append(write)))
        except OverloadedError:
            return False
        except UnavailableError as error:
            _LOG.warning("the stream of %s waits for the log: %s", source.name, error)
            return False
        return True

    def _require_room(self, source: Source) -> None:
        if self._log.load.is_above_reserve and not source.protected and self._sources().has_protected:
            raise OverloadedError


class _ReadAhead:
    """Reads up to `_AHEAD` elements while earlier ones are written."""

    def __init__(self, elements: AsyncIterator[Element]) -> None:
        self._queue: asyncio.Queue[Element | None] = asyncio.Queue()
        self._room = asyncio.Semaphore(_AHEAD)
        self._task = asyncio.create_task(self._read(elements))

    async def next_batch(self) -> list[Element]:
        """The elements read so far, in order; waits for at least one. Empty at the end of the stream."""
        batch: list[Element] = []
        size = 0
        while size < _BATCH_BYTES and not (batch and self._queue.empty()):
            element = await self._queue.get()
            if element is None:
                self._queue.put_nowait(None)
                break
            self._room.release()
            batch.append(element)
            size += len(element.body or b"")
        return batch

    async def result(self) -> None:
        """Raise the error that ended the stream, if any."""
        await self._task

    async def stop(self) -> None:
        """Stop reading."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _read(self, elements: AsyncIterator[Element]) -> None:
        try:
            async for element in elements:
                await self._room.acquire()
                self._queue.put_nowait(element)
        finally:
            self._queue.put_nowait(None)
