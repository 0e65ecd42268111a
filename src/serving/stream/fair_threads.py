"""Calls in threads, few at the same time: memory is bounded, and no reader takes all threads."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from typing import TypeVar
from weakref import WeakValueDictionary

_T = TypeVar("_T")
_AT_ONCE = 8
_OF_READER = 3


class FairThreads:
    """Runs calls in threads, few at the same time in total and of each reader; others wait without a thread.

    It is for the thread of the event loop.

    Args:
        at_once: calls that run at the same time.
        of_reader: those of one reader.
    """

    def __init__(self, at_once: int = _AT_ONCE, of_reader: int = _OF_READER) -> None:
        self._all = asyncio.Semaphore(at_once)
        self._of_reader = of_reader
        self._own: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def run(self, reader: str, call: Callable[..., _T], *arguments: object) -> _T:
        """The result of a call. A call that runs counts until it ends, even if nobody waits for it any more.

        Args:
            reader: name of the reader.
            call: blocks its thread.
            arguments: of the call.
        """
        with ExitStack() as held:
            for semaphore in (self._own.setdefault(reader, asyncio.Semaphore(self._of_reader)), self._all):
                await semaphore.acquire()
                held.callback(semaphore.release)
            running = asyncio.create_task(asyncio.to_thread(call, *arguments))
            release = held.pop_all().close
        running.add_done_callback(lambda _: release())
        return await asyncio.shield(running)
