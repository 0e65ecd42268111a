"""A least rate of request bodies, so that silent senders do not hold connections and memory."""

import asyncio
import time
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

GRACE_SECONDS = 10.0
"""Seconds that a body may take without any byte."""
LEAST_RATE = 8 << 10
"""Bytes a second of a body after the grace."""
_STEPS = 4


class SlowBodyError(Exception):
    """A body arrives too slowly."""


@dataclass(frozen=True)
class BodyRate:
    """ASGI middleware: reading a body raises a `SlowBodyError` if it falls behind the least rate.

    Only the time for which the server waits for bytes counts, not that of its own work between them.

    Args:
        app: the application.
        grace: seconds without any byte.
        rate: bytes a second after it.
    """

    app: ASGIApp
    grace: float = GRACE_SECONDS
    rate: float = LEAST_RATE

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        waited, size, is_complete = 0.0, 0, False

        async def receive_in_time() -> Message:
            nonlocal waited, size, is_complete
            if is_complete:  # waits for the end of the connection
                return await receive()
            receiving = asyncio.ensure_future(receive())
            try:
                while not receiving.done():
                    left = self.grace + size / self.rate - waited
                    if left <= 0:
                        raise SlowBodyError
                    step, since = min(self.grace / _STEPS, left), time.monotonic()
                    await asyncio.wait({receiving}, timeout=step)
                    waited += min(time.monotonic() - since, step)  # more is the time of a busy event loop
            finally:
                receiving.cancel()
            message = receiving.result()
            size += len(message.get("body", b""))
            is_complete = not message.get("more_body", False)
            return message

        await self.app(scope, receive_in_time, send)
