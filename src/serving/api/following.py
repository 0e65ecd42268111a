"""The messages of open subscriptions, and log lines for slow subscribers."""

import logging
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager

from starlette.requests import HTTPConnection

from lakehouse.access.read_log import Reads
from lakehouse.errors import MillraceError
from serving.api.readers import Reader
from serving.query_limits import TryLaterError
from serving.stream.messages import Message, closed_message
from serving.stream.seen_versions import SeenVersions
from serving.stream.subscription import SlowSubscriberError, Subscription
from serving.stream.wanted import Wanted

_LOG = logging.getLogger("serving")
_CHECK_SECONDS = 1.0
_MOST_OF_READER = 512
"""Open subscriptions of a reader."""
_MOST_ROWS_OF_READER = 8
"""Requests for rows that are being answered to a reader."""


class Following:
    """Counts and logs subscriptions.

    Args:
        reads: records what subscribers have seen; None: nothing is recorded.
    """

    def __init__(self, reads: Reads | None = None) -> None:
        self.count = 0
        """Number of open subscriptions."""
        self._reads = reads
        self._subscriptions: Counter[str] = Counter()
        self._rows: Counter[str] = Counter()

    @contextmanager
    def reading(self, reader: Reader) -> Iterator[None]:
        """Count a reader's request for rows during the block.

        Raises:
            TryLaterError: if there are too many of them.
        """
        with _counted(self._rows, reader.name, _MOST_ROWS_OF_READER):
            yield

    def seen(self, reader: Reader, wanted: Wanted) -> SeenVersions:
        """A recorder of the versions that one reader sees."""
        return SeenVersions(self._reads, reader.name, reader.role.name, wanted)

    def close(self) -> None:
        """Write pending records of reads."""
        if self._reads is not None:
            self._reads.close()

    async def messages(
        self, connection: HTTPConnection, reader: Reader, wanted: Wanted, subscription: Subscription
    ) -> AsyncGenerator[Message, None]:
        """The messages of a subscription. If the server ends it, the last message has the reason."""
        checked, seen = time.monotonic(), self.seen(reader, wanted)
        self.count += 1
        try:
            with _counted(self._subscriptions, reader.name, _MOST_OF_READER):
                async with aclosing(subscription.messages()) as messages:
                    async for message in messages:
                        if time.monotonic() - checked > _CHECK_SECONDS:
                            checked = time.monotonic()
                            if not reader.is_known():
                                yield closed_message("the token has expired, or its role has changed")
                                return
                        if "waiting_bytes" in message.content:
                            log_slow(connection, wanted, f"{message.content['waiting_bytes']:,} bytes wait")
                        seen.note(message.content.get("versions", {}))
                        yield message
        except SlowSubscriberError as error:
            log_slow(connection, wanted, f"disconnected, {error}")
            yield closed_message(f"too slow: {error}")
        except MillraceError as error:
            yield closed_message(str(error))
        finally:
            self.count -= 1
            seen.end()


def log_slow(connection: HTTPConnection, wanted: Wanted, what: str) -> None:
    """Log that a subscriber is slow."""
    address = f"{connection.client.host}:{connection.client.port}" if connection.client else "unknown"
    _LOG.warning("Slow subscriber %s of %s: %s", address, wanted.name, what)


@contextmanager
def _counted(counts: Counter[str], reader: str, most: int) -> Iterator[None]:
    if counts[reader] >= most:
        raise TryLaterError(f"{most} of your requests are being answered", "Try again later")
    counts[reader] += 1
    try:
        yield
    finally:
        counts[reader] -= 1
        if not counts[reader]:
            del counts[reader]
