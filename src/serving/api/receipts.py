"""Lets readers wait until the events of a collector's receipt are in the tables."""

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from lakehouse.errors import MillraceError
from serving.query_limits import TryLaterError

Wait = Callable[[str, float], None]
"""Waits until silver and gold have the events of a receipt, at most so many seconds; else raises an error."""

_AT_ONCE, _OF_READER = 4, 2


class Receipts:
    """Waits for receipts, of a few readers at the same time: each asks the tables again and again.

    Args:
        wait: waits for one; None: this server has no collector.
    """

    def __init__(self, wait: Wait | None) -> None:
        self._wait = wait
        self._waiting: Counter[str] = Counter()
        self._threads = ThreadPoolExecutor(_AT_ONCE, "receipt")  # they wait long, so they take none of others

    async def wait_for(self, receipt: str, seconds: float, reader: str = "") -> None:
        """Wait for a receipt.

        Args:
            receipt: the receipt.
            seconds: for how long at most.
            reader: name of the reader.

        Raises:
            TryLaterError: if too many wait.
            MillraceError: if the receipt is not known, or its events are not there in time.
        """
        if self._wait is None:
            raise MillraceError("this server knows no receipts", "Ask the server on the collector's machine")
        if self._waiting.total() >= _AT_ONCE or self._waiting[reader] >= _OF_READER:
            raise TryLaterError("too many wait for receipts", "Try again later")
        self._waiting[reader] += 1
        try:
            await asyncio.get_running_loop().run_in_executor(self._threads, self._wait, receipt, seconds)
        finally:
            self._waiting[reader] -= 1
            self._waiting += Counter()  # forgets readers who do not wait
