"""Lets a reader's requests begin a few at a time, so that those of others come between them."""

import asyncio
from collections import Counter, deque

_AT_ONCE = 2


class FairStarts:
    """Each reader begins few requests in a turn of the event loop; its others wait for the next turns.

    Otherwise, when hundreds of connections are opened at once, all their requests would begin in the same
    turn. It is for the thread of the event loop.

    Args:
        at_once: requests of a reader in a turn.
    """

    def __init__(self, at_once: int = _AT_ONCE) -> None:
        self._at_once = at_once
        self._started: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def begin(self, reader: str) -> None:
        """Wait until a request of a reader may begin; not at all if few do.

        Args:
            reader: name of the reader.
        """
        if self._started[reader] < self._at_once:
            self._count(reader, 1)
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(reader, deque()).append(turn)
        await turn

    def _count(self, reader: str, started: int) -> None:
        if not self._started[reader]:
            asyncio.get_running_loop().call_soon(self._next_turn, reader)
        self._started[reader] += started

    def _next_turn(self, reader: str) -> None:
        del self._started[reader]
        waiting = self._waiting.pop(reader, deque())
        while waiting and self._started[reader] < self._at_once:
            turn = waiting.popleft()
            if not turn.done():  # else its request was cancelled
                turn.set_result(None)
                self._count(reader, 1)
        if waiting:
            self._waiting[reader] = waiting
