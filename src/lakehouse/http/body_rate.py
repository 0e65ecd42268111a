"""A least rate of request bodies, so that silent senders do not hold connections and memory."""

import asyncio
import time
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

GRACE_SECONDS = 10.0
"""Seconds that a body may take without any byte."""
LEAST_RATE = 8 << 10
"""Bytes a second of a body after the grace."""


class SlowBodyError(Exception):
    """A body arrives too slowly."""


@dataclass(frozen=True)
class BodyRate:
    """ASGI middleware: reading a body raises a `SlowBodyError` if it falls behind the least rate.

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
        since, size, is_complete = time.monotonic(), 0, False

        async def receive_in_time() -> Message:
            nonlocal size, is_complete
            if is_complete:  # waits for the end of the connection
                return await receive()
            left = since + self.grace + size / self.rate - time.monotonic()
            try:
                message = await asyncio.wait_for(receive(), max(left, 0.0))
            except asyncio.TimeoutError:
                raise SlowBodyError from None
            size += len(message.get("body", b""))
            is_complete = not message.get("more_body", False)
            return message

        await self.app(scope, receive_in_time, send)
