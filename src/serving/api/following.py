"""The messages of open subscriptions, and log lines for slow subscribers."""

import logging
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.requests import HTTPConnection

from lakehouse.access.read_log import Reads
from lakehouse.errors import MillraceError
from serving.api.readers import Reader
from serving.stream.hub import Wanted
from serving.stream.messages import Message, closed_message
from serving.stream.seen_versions import SeenVersions
from serving.stream.subscription import SlowSubscriberError, Subscription

_LOG = logging.getLogger("serving")
_CHECK_SECONDS = 1.0


class Following:
    """Counts and logs subscriptions.

    Args:
        reads: records what subscribers have seen; None: nothing is recorded.
    """

    def __init__(self, reads: Reads | None = None) -> None:
        self.count = 0
        """Number of open subscriptions."""
        self._reads = reads

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
