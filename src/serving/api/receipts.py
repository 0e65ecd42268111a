"""Lets readers wait until the events of a collector's receipt are in the tables."""

import asyncio
from collections.abc import Callable

from lakehouse.errors import MillraceError
from serving.query_limits import TryLaterError

Wait = Callable[[str, float], None]
"""Waits until silver and gold have the events of a receipt, at most so many seconds; else raises an error."""

_AT_ONCE = 4


class Receipts:
    """Waits for receipts, of a few readers at the same time: each asks the tables again and again.

    Args:
        wait: waits for one; None: this server has no collector.
    """

    def __init__(self, wait: Wait | None) -> None:
        self._wait = wait
        self._waiting = 0

    async def wait_for(self, receipt: str, seconds: float) -> None:
        """Wait for a receipt.

        Raises:
            TryLaterError: if too many wait.
            MillraceError: if the receipt is not known, or its events are not there in time.
        """
        if self._wait is None:
            raise MillraceError("this server knows no receipts", "Ask the server on the collector's machine")
        if self._waiting >= _AT_ONCE:
            raise TryLaterError("too many wait for receipts", "Try again later")
        self._waiting += 1
        try:
            await asyncio.to_thread(self._wait, receipt, seconds)
        finally:
            self._waiting -= 1
